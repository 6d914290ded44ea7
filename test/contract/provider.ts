// The contract of a provider. Each implementation passes all of it, on servers of its own for every test.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LIFE_CASES } from '../../src/cli/conformance/cases.ts';
import { Trial } from '../../src/cli/conformance/trial.ts';
import type { Answer } from '../../src/model/call-result.ts';
import { SERVER } from '../../src/model/names.ts';
import type { Properties } from '../../src/model/objects.ts';
import type { Operation } from '../../src/model/state.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { callOf } from '../support/calls.ts';

/** Where a provider keeps its servers. */
export interface ProviderPlace {
  /** Opens a provider that finds the servers of the one before. */
  open(): Promise<Provider>;
  remove(): Promise<void>;
}

const WEB: Properties = { name: 'web-1', role: 'web', peers: ['web-1', 'web-2'] };

export function describeProvider(name: string, makePlace: () => Promise<ProviderPlace>): void {
  describe(`the provider contract: ${name}`, () => {
    let place: ProviderPlace;
    let provider: Provider;

    beforeEach(async () => {
      place = await makePlace();
      provider = await place.open();
    });
    afterEach(async () => {
      await provider.close();
      await place.remove();
    });

    function perform(operation: Operation, action: string, properties: Properties = WEB): Promise<Answer> {
      return provider.perform(callOf({ operation, action, properties }), new AbortController().signal);
    }

    it('passes the life cases of treeline provider test', async () => {
      const trial = new Trial({
        send: (input, signal) => provider.perform(JSON.parse(input), signal),
        kind: SERVER,
        properties: { role: 'web' },
        change: { role: 'db' },
        timeoutMs: 10_000,
        trap: '',
        interrupted: new AbortController().signal,
      });
      for (const { run } of LIFE_CASES) await run(trial);
    });

    it('keeps servers apart', async () => {
      const other = callOf({
        operation: 'create',
        action: 'c2',
        resource: '__proto__',
        properties: { name: '__proto__' },
      });
      await perform('create', 'c1');
      await provider.perform(other, new AbortController().signal);
      await perform('delete', 'd1');
      const check = await provider.perform({ ...other, operation: 'check' }, new AbortController().signal);
      expect(check).toMatchObject({ outcome: 'done', observed: { name: '__proto__' } });
    });

    it('finds its servers again after a restart, and recognises a repeated call', async () => {
      await perform('create', 'c1');
      await perform('update', 'u1', { name: 'web-1', role: 'db' });
      await provider.close();
      provider = await place.open();
      expect(await perform('create', 'c1')).toMatchObject({ outcome: 'done', observed: { role: 'db' } });
      expect(await perform('check', 'k1')).toMatchObject({ outcome: 'done', observed: { role: 'db' } });
    });

    it('throws for a call whose signal was aborted before, and does nothing', async () => {
      const call = callOf({ operation: 'create', action: 'c1' });
      await expect(provider.perform(call, AbortSignal.abort(new Error('too late')))).rejects.toThrow('too late');
      expect(await perform('check', 'k1')).toMatchObject({ outcome: 'absent' });
    });
  });
}
