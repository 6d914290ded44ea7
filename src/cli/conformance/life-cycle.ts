// Takes one server from its create to its delete, as several cases need it.
import type { Properties } from '../../model/objects.ts';
import type { Call } from '../../providers/provider.ts';
import { expectObserved, type Trial } from './trial.ts';

interface Extraordinary {
  /** Beside those of the trial. */
  readonly properties?: Properties;
  readonly record?: Call['record'];
}

/**
 * Creates, checks and deletes a server. A provider may refuse what is extraordinary, but then it makes nothing. Throws
 * Deviation.
 */
export async function runLifeCycle(trial: Trial, server: string, more: Extraordinary = {}): Promise<void> {
  const properties = { ...trial.options.properties, ...more.properties, name: server };
  const fields = more.record === undefined ? { properties } : { properties, record: more.record };
  const outcomes = Object.keys(more).length === 0 ? (['done'] as const) : (['done', 'failed'] as const);
  const { outcome } = await trial.expect(outcomes, 'create', server, fields);
  const answer = await trial.expect([outcome === 'done' ? 'done' : 'absent'], 'check', server, fields);
  expectObserved(answer, properties);
  await trial.expect(['done', 'absent'], 'delete', server, fields);
  await trial.expect(['absent'], 'check', server, fields);
}
