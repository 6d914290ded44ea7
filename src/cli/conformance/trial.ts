// Calls the tested provider for the cases of the conformance test, and checks its answers. Runs the life cycle of a
// server for several cases.
import { randomUUID } from 'node:crypto';
import { quote, toRfc3339 } from '../../base/wording.ts';
import type { Answer, AnswerOutcome } from '../../model/call-result.ts';
import { isSame } from '../../model/json.ts';
import type { Properties } from '../../model/objects.ts';
import type { Operation } from '../../model/state.ts';
import { type Call, encodeCall } from '../../providers/provider.ts';

const NOT_JSON = 'is not one JSON object';
const EMPTY_SPEC = { layers: {}, configurationOnly: [], dependsOn: [], lists: [] };

/** Resolves with the answer to an input, valid or not. Throws if there is none, and the signal's reason. */
export type Send = (input: string, signal: AbortSignal) => Promise<Answer>;

/** The tested provider, and the properties of its servers. */
export interface TrialOptions {
  readonly send: Send;
  /** Sends with a wrong signature; undefined if calls are not signed. */
  readonly forged?: Send | undefined;
  readonly kind: string;
  readonly properties: Properties;
  /** The properties that an update changes. */
  readonly change: Properties;
  readonly timeoutMs: number;
  /** A file that no program may create. */
  readonly trap: string;
  /** Ends the whole test. */
  readonly interrupted: AbortSignal;
}

/** The provider violates the contract, as the message describes. */
export class Deviation extends Error {
  override readonly name = 'Deviation';
}

/** One run of the conformance test. */
export class Trial {
  readonly options: TrialOptions;
  /** The prefix of the names of all servers of this run. */
  readonly prefix = `treeline-test-${randomUUID().slice(0, 6)}`;
  /** The servers for which a create was sent. */
  readonly made = new Set<string>();
  /** The places in answers about a server, in order; undefined for an answer without a place. */
  readonly places: (string | undefined)[] = [];
  /** The outcome of the first update. */
  updated: AnswerOutcome | undefined;
  #actions = 0;

  constructor(options: TrialOptions) {
    this.options = options;
  }

  /** Returns the name of a server of this run. */
  nameOf(suffix: string): string {
    return `${this.prefix}-${suffix}`;
  }

  /** Returns a call; `fields` override its defaults. */
  makeCall(operation: Operation, resource: string, fields: Partial<Call> = {}): Call {
    const { kind, properties, timeoutMs } = this.options;
    const named = { ...properties, name: resource };
    const hasSpec = operation === 'update' || operation === 'delete' || fields.outputs !== undefined;
    return {
      operation,
      resource,
      kind,
      action: `${resource}.${++this.#actions}.${operation}`,
      properties: named,
      record: { clientcert: resource },
      applied: hasSpec ? { ...EMPTY_SPEC, kind, properties: named } : null,
      outputs: hasSpec ? {} : null,
      deadline: toRfc3339(Date.now() + timeoutMs),
      ...fields,
    };
  }

  /** Returns the answer to a call. Throws Deviation if there is none in time. */
  async call(operation: Operation, resource: string, fields: Partial<Call> = {}): Promise<Answer> {
    const call = this.makeCall(operation, resource, fields);
    if (operation === 'create') this.made.add(resource);
    const answer = await this.send(encodeCall(call));
    if (['done', 'absent', 'replace'].includes(answer.outcome)) this.places.push(answer.place);
    return answer;
  }

  /** Returns the answer to an input. Throws Deviation if there is none in time. */
  async send(input: string, send: Send = this.options.send): Promise<Answer> {
    const { timeoutMs, interrupted } = this.options;
    const timeout = AbortSignal.timeout(timeoutMs);
    try {
      return await send(input, AbortSignal.any([timeout, interrupted]));
    } catch (error) {
      interrupted.throwIfAborted();
      if (timeout.aborted) throw new Deviation(`there was no answer within ${timeoutMs / 1000} s`, { cause: error });
      const reason = error instanceof Error ? error.message : String(error);
      const advice = reason.includes(NOT_JSON)
        ? '\nOnly the answer goes to standard output; write other text to standard error.'
        : '';
      throw new Deviation(`the answer is lost: ${reason}${advice}`, { cause: error });
    }
  }

  /** Sends a call and throws Deviation unless its outcome is one of these. */
  async expect(
    outcomes: readonly AnswerOutcome[],
    operation: Operation,
    resource: string,
    fields: Partial<Call> = {},
  ): Promise<Answer> {
    const answer = await this.call(operation, resource, fields);
    if (!outcomes.includes(answer.outcome)) throw new Deviation(`${operation} ${outcomeWords(answer, outcomes)}`);
    return answer;
  }
}

/** Returns words for how an answer differs from the expected outcomes. */
export function outcomeWords({ outcome, message }: Answer, expected: readonly AnswerOutcome[]): string {
  const words = message === '' ? '' : ` (${message})`;
  return `answered "${outcome}"${words}; expected ${expected.map((each) => `"${each}"`).join(' or ')}`;
}

/** Throws Deviation if an observed property differs from the requested value. */
export function expectObserved({ observed }: Answer, properties: Properties): void {
  for (const [name, value] of Object.entries(observed)) {
    if (!Object.hasOwn(properties, name) || isSame(value, properties[name])) continue;
    throw new Deviation(
      `"observed" says that ${quote(name)} is ${quote(value)}, and ${quote(properties[name] ?? '')} was asked for`,
    );
  }
}

/** One case of the conformance test. */
export interface ConformanceCase {
  readonly title: string;
  /** Throws Deviation if the provider violates the contract. */
  readonly run: (trial: Trial) => Promise<void>;
}

/**
 * Creates, checks and deletes a server with more properties, or a record. A provider may refuse these, but then it must
 * not create anything. Throws Deviation.
 */
export async function runLifeCycle(
  trial: Trial,
  server: string,
  more: Partial<Pick<Call, 'properties' | 'record'>> = {},
): Promise<void> {
  const properties = { ...trial.options.properties, ...more.properties, name: server };
  const fields = { ...more, properties };
  const outcomes = Object.keys(more).length === 0 ? (['done'] as const) : (['done', 'failed'] as const);
  const { outcome } = await trial.expect(outcomes, 'create', server, fields);
  const answer = await trial.expect([outcome === 'done' ? 'done' : 'absent'], 'check', server, fields);
  expectObserved(answer, properties);
  await trial.expect(['done', 'absent'], 'delete', server, fields);
  await trial.expect(['absent'], 'check', server, fields);
}
