// A provider in memory that does as it is told: a script may answer a call, hold it, or let it fail. Without one it is an
// ordinary provider; test/contract/scripted-provider.test.ts holds it to the contract.
import type { Answer } from '../../src/model/call-result.ts';
import type { Properties } from '../../src/model/objects.ts';
import type { Call, Provider } from '../../src/providers/provider.ts';

/** Answers a call in the provider's place; undefined leaves it to the provider. */
export type Script = (call: Call, signal: AbortSignal) => Promise<Answer> | undefined;

export class ScriptedProvider implements Provider {
  lostActionEnds: Provider['lostActionEnds'] = 'with the controller';
  /** Every call, oldest first. */
  readonly calls: Call[] = [];
  script: Script = () => undefined;
  readonly #servers: Map<string, Properties>;

  /** What exists. */
  get servers(): ReadonlyMap<string, Properties> {
    return this.#servers;
  }

  /** `servers` is what exists; a later provider on the same map finds what this one has made. */
  constructor(servers: Map<string, Properties> = new Map()) {
    this.#servers = servers;
  }

  /** Its calls leave nothing that runs. */
  hasEnded(): boolean {
    return true;
  }

  async perform(call: Call, signal: AbortSignal): Promise<Answer> {
    signal.throwIfAborted();
    this.calls.push(call);
    return (await this.script(call, signal)) ?? this.act(call);
  }

  /** Does what a call asks, at once. */
  act({ operation, resource, properties }: Call): Answer {
    const isThere = this.#servers.has(resource);
    if (operation === 'delete') this.#servers.delete(resource);
    else if (operation !== 'check' && isThere === (operation === 'update')) this.#servers.set(resource, properties);
    const observed = this.#servers.get(resource);
    const outcome = observed === undefined ? 'absent' : 'done';
    return { outcome, message: '', outputs: {}, observed: observed ?? {} };
  }

  /** Somebody else makes a server. */
  build(name: string, properties: Properties): void {
    this.#servers.set(name, properties);
  }

  /** Returns true if a server exists. */
  has(name: string): boolean {
    return this.#servers.has(name);
  }

  /** A server is gone, and nobody was asked. */
  forget(name: string): void {
    this.#servers.delete(name);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** Returns a promise that throws the reason of the signal once that fires. */
export function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
}
