// Plays proxies: registered clients that claim what they are offered, and report how it ended.
import type { AgentAction } from '../../src/agents/agent.ts';
import type { Answer } from '../../src/model/call-result.ts';
import type { Client } from '../../src/model/objects.ts';
import { allowed } from '../support/allowed.ts';
import type { Core } from './core.ts';

/** Returns a registered proxy. */
export function proxyOf(serial: string, ...tags: readonly string[]): Client {
  const fields = { name: serial, type: 'client', description: '', role: 'proxy', fingerprint: '', tenant: '' } as const;
  return { ...fields, serial, tags };
}

/** Carries out the first call that a proxy is offered. Returns false if it is offered none. */
export async function takeTurn(core: Core, by: Client, answer: (action: AgentAction) => Answer): Promise<boolean> {
  const [action] = core.agent?.actions(by, 1) ?? [];
  if (action === undefined) return false;
  const claimed = core.agent?.claim(allowed(by), action.id, null);
  await core.settle();
  const { lease = '' } = (await claimed) ?? {};
  const reported = core.agent?.report(by, action.id, { lease, answer: answer(action) });
  await core.settle();
  await reported;
  return true;
}
