// The contract of a provider. Each implementation passes all of it, on servers of its own for every test.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Answer } from '../../src/model/call-result.ts';
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

    it('answers absent for a server that nobody made', async () => {
      expect(await perform('check', 'k1')).toMatchObject({ outcome: 'absent', observed: {} });
      expect(await perform('delete', 'd1')).toMatchObject({ outcome: 'absent' });
    });

    it('shows what a created server has', async () => {
      expect(await perform('create', 'c1')).toMatchObject({ outcome: 'done' });
      expect(await perform('check', 'k1')).toMatchObject({ outcome: 'done', observed: WEB });
    });

    it('shows the new properties of an updated server', async () => {
      await perform('create', 'c1');
      expect(await perform('update', 'u1', { name: 'web-1', role: 'db' })).toMatchObject({ outcome: 'done' });
      const { observed } = await perform('check', 'k1');
      expect(observed).toEqual({ name: 'web-1', role: 'db' });
    });

    it('answers absent for a deleted server, and makes it again when asked', async () => {
      await perform('create', 'c1');
      expect(await perform('delete', 'd1')).toMatchObject({ outcome: 'absent' });
      expect(await perform('check', 'k1')).toMatchObject({ outcome: 'absent' });
      expect(await perform('create', 'c2')).toMatchObject({ outcome: 'done' });
      expect(await perform('check', 'k2')).toMatchObject({ outcome: 'done' });
    });

    it.each<[Operation, string]>([
      ['create', 'done'],
      ['update', 'done'],
      ['delete', 'absent'],
    ])('answers a repeated %s like the first', async (operation, outcome) => {
      if (operation !== 'create') await perform('create', 'c1');
      const first = await perform(operation, 'a1');
      const second = await perform(operation, 'a1');
      expect(first).toMatchObject({ outcome });
      expect(second).toEqual(first);
    });

    it('answers create of what is there, by another action, as if it had done it', async () => {
      await perform('create', 'c1');
      expect(await perform('create', 'c2')).toMatchObject({ outcome: 'done' });
      expect(await perform('check', 'k1')).toMatchObject({ outcome: 'done', observed: WEB });
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

    it('throws for a call whose signal has fired already, and does nothing', async () => {
      const call = callOf({ operation: 'create', action: 'c1' });
      await expect(provider.perform(call, AbortSignal.abort(new Error('too late')))).rejects.toThrow('too late');
      expect(await perform('check', 'k1')).toMatchObject({ outcome: 'absent' });
    });
  });
}
