// Which part of the problems a client is shown. See docs/rest.md, operations.
import type { Client } from '../model/objects.ts';
import type { Problem } from '../model/problem.ts';
import { canonicalSerial } from '../model/serial.ts';
import type { Operator } from '../service/operator.ts';

const WITHHELD = 'only administrators and automation endpoints are shown what is wrong here';

/**
 * Returns the problems as a client may see them. Whoever may read clients sees all of them. A proxy is told that a file is
 * wrong and where, and not what stands there: messages quote wrong values, which no other read shows. Of the files below
 * `clients/` it is told its own alone, as their names are serials.
 */
export function problemsFor(client: Client, all: ReturnType<Operator['problems']>): ReturnType<Operator['problems']> {
  if (client.role !== 'proxy') return all;
  return { ...all, problems: all.problems.flatMap((problem) => problemFor(client, problem)) };
}

function problemFor({ serial }: Client, problem: Problem): Problem[] {
  const inClients = /^clients\/(?:.*\/)?([^/]*?)(?:\.[^./]*)?$/.exec(problem.file);
  if (inClients === null) return [{ ...problem, pointer: '', message: WITHHELD, hint: null }];
  return canonicalSerial(inClients[1] ?? '') === serial ? [problem] : [];
}
