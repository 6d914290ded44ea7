import type { Properties } from '../../src/model/objects.ts';
import { ScriptedProvider } from '../support/scripted-provider.ts';
import { describeProvider } from './provider.ts';

describeProvider('scripted', async () => {
  const servers = new Map<string, Properties>();
  return { open: async () => new ScriptedProvider(servers), remove: async () => servers.clear() };
});
