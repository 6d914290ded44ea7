// Random walks: commits, mistakes, failing servers, a forge that comes and goes, stops and kills. In the end every status is final
// and true, and nothing was sent without need.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { CommitStatus } from '../../src/model/rows.ts';
import type { Attempt } from '../../src/statuses/post-once.ts';
import { answerOf } from '../reconcile/build.ts';
import { SHOP, shopFiles, TEMPLATE } from '../reconcile/shop.ts';
import { countRuns } from '../support/count-runs.ts';
import { ACCEPTED, REFUSED, ReportingCore, UNREACHABLE } from './told-forge.ts';

const GROUP = `parameters: { count: "1", size: small }
resources:
  s:
    type: Platform::ResourceGroup
    properties: { count: "<<count>>", max_unavailable: "100%", resource_def: { properties: { size: "<<size>>" } } }
`;
const FILES: Readonly<Record<string, string>> = { ...shopFiles({}), [TEMPLATE]: GROUP };
const TREE = FILES['tree.yaml'] ?? '';
/** GitHub takes 1,000. */
const SENDS_MAX = 40;

type Step =
  | { readonly kind: 'resize'; readonly count: number; readonly size: string }
  | { readonly kind: 'wrong' | 'refused' | 'text' | 'approve' | 'stop' | 'kill' }
  | { readonly kind: 'provider'; readonly outcome: 'works' | 'fails' | 'retries' }
  | { readonly kind: 'forge'; readonly answer: 'accepts' | 'refuses' | 'is away' }
  | { readonly kind: 'pass'; readonly ms: number };

const STEP: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant('resize' as const),
    count: fc.integer({ min: 1, max: 6 }),
    size: fc.constantFrom('small', 'large'),
  }),
  fc.record({ kind: fc.constantFrom('wrong' as const, 'refused', 'text', 'approve', 'stop', 'kill') }),
  fc.record({
    kind: fc.constant('provider' as const),
    outcome: fc.constantFrom('works' as const, 'fails', 'retries'),
  }),
  fc.record({
    kind: fc.constant('forge' as const),
    answer: fc.constantFrom('accepts' as const, 'refuses', 'is away'),
  }),
  fc.record({ kind: fc.constant('pass' as const), ms: fc.constantFrom(500, 5_000, 60_000, 600_000, 3_600_000) }),
);

class Walk {
  readonly told = new ReportingCore({ retry: { attempts: 2, firstSeconds: 2, failedSeconds: 600 } });
  /** Accepted by the forge, in order. */
  readonly accepted: (CommitStatus & { readonly key: string; readonly life: number })[] = [];
  /** Counts kills: after each one, one status may come a second time. */
  #life = 0;
  #size = { count: 3, size: 'small' };

  async begin(): Promise<void> {
    this.#answer(() => ACCEPTED);
    await this.#commit({ ...FILES, [SHOP]: this.#shop() });
  }

  async take(step: Step): Promise<void> {
    const { told } = this;
    if (step.kind === 'resize') {
      this.#size = step;
      await this.#commit({ [SHOP]: this.#shop(), 'tree.yaml': TREE });
    } else if (step.kind === 'wrong') await this.#commit({ [SHOP]: 'stackTemplate: nowhere\n' });
    else if (step.kind === 'refused') await this.#commit({ 'tree.yaml': 'name: [\n' });
    else if (step.kind === 'text') await this.#commit({ 'README.md': `text ${this.accepted.length}` });
    else if (step.kind === 'approve') await this.#approve();
    else if (step.kind === 'pass') await told.pass(step.ms);
    else if (step.kind === 'provider') this.#provide(step.outcome);
    else if (step.kind === 'forge') {
      const answers = { accepts: ACCEPTED, refuses: REFUSED, 'is away': UNREACHABLE } as const;
      this.#answer(() => answers[step.answer]);
    } else {
      this.#life += step.kind === 'kill' ? 1 : 0;
      await told.restart({ isKilled: step.kind === 'kill' });
    }
  }

  /** Everything is put right, and time enough passes for all of it. */
  async end(): Promise<string> {
    this.#provide('works');
    this.#answer(() => ACCEPTED);
    const last = await this.#commit({ [SHOP]: this.#shop(), 'tree.yaml': TREE, 'README.md': 'the end' });
    await this.#approve();
    for (let hour = 0; hour < 30; hour += 1) await this.told.pass(3_600_000);
    return last;
  }

  #shop(): string {
    return `stackTemplate: t\nparameters: { count: "${this.#size.count}", size: ${this.#size.size} }\n`;
  }

  async #commit(files: Readonly<Record<string, string>>): Promise<string> {
    return await this.told.commit(files);
  }

  async #approve(): Promise<void> {
    const { core } = this.told;
    for (const { kind, digest } of core.operator.held()) {
      // One approval may settle another hold.
      const isHeld = core.operator.held().some((item) => item.digest === digest);
      if (isHeld && (kind === 'deletes' || kind === 'failures')) await core.approve(digest);
    }
  }

  #provide(outcome: 'works' | 'fails' | 'retries'): void {
    const answers = { fails: answerOf('failed'), retries: answerOf('retryable') };
    this.told.core.provider.script = ({ operation }) =>
      outcome === 'works' || operation === 'check' ? undefined : Promise.resolve(answers[outcome]);
  }

  #answer(answer: () => Attempt): void {
    this.told.answer = ({ commit, context, state, description }) => {
      const attempt = answer();
      if (attempt.isAccepted) {
        this.accepted.push({ key: `${commit} ${context}`, state, description, life: this.#life });
      }
      return attempt;
    };
  }
}

it('ends with the truth, whatever happens, and says nothing twice', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(STEP, { minLength: 5, maxLength: 40 }), async (steps) => {
      const walk = new Walk();
      await walk.begin();
      for (const step of steps) await walk.take(step);
      const head = await walk.end();

      const byKey = Map.groupBy(walk.accepted, ({ key }) => key);
      expect(byKey.get(`${head} validate`)?.at(-1)?.state).toBe('success');
      expect(byKey.get(`${head} apply`)?.at(-1)?.state).toBe('success');
      for (const [key, statuses] of byKey) {
        expect(statuses.at(-1)?.state, key).not.toBe('in progress');
        expect(statuses.length, key).toBeLessThan(SENDS_MAX);
        for (const [index, status] of statuses.entries()) {
          const before = statuses[index - 1];
          const isSame = before?.state === status.state && before.description === status.description;
          expect(isSame && before.life === status.life, `${key} is sent twice`).toBe(false);
          const isFinal = key.endsWith('apply') && ['success', 'superseded'].includes(before?.state ?? '');
          expect(isFinal && before?.life === status.life, `${key} was final`).toBe(false);
        }
      }
      expect([...walk.told.core.ledger.list('commitStatus').keys()]).toEqual([head]);
      await walk.told.reporter.stop();
      await walk.told.core.stop();
    }),
    { numRuns: countRuns(30) },
  );
});
