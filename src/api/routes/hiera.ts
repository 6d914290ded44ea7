// Routes of docs/rest.md, hiera. Clients take a 404 here for "ask the next level", so it means an unknown node or key
// and nothing else.
import { Router } from 'express';
import type { Shares } from '../../base/shares.ts';
import type { Steps } from '../../base/steps.ts';
import type { NodeAtMoment } from '../../model/record.ts';
import type { Reader } from '../../service/read/reader.ts';
import { AnswerWriter, type PiecedAnswer, tagOf } from '../answer.ts';
import { only } from '../only.ts';
import { queryFlag } from '../query.ts';
import { type KeptAnswers, readList, readsOn } from '../reads.ts';

/** Others may have their turn after so many records: each is computed here. */
const RECORDS_A_STEP = 20;

interface HieraRoutes {
  readonly reader: Reader;
  readonly kept: KeptAnswers;
  readonly shares: Shares;
}

/** Returns the routes below `/hiera`. */
export function hieraRoutes({ reader, kept, shares }: HieraRoutes): Router {
  const router = Router({ caseSensitive: true });
  const addRead = readsOn(router, { reader, kept });
  router
    .route('/hiera/all')
    .all(only('GET'))
    .get(
      readList({ reader, kept, shares }, (request) => {
        const [isExplained, isInventory] = [queryFlag(request, 'info'), queryFlag(request, 'inventory')];
        const textOf = (node: NodeAtMoment): string => JSON.stringify(isExplained ? node.explained() : node.record());
        return writeRecords(reader.nodes(), isInventory ? (node) => withGroup(node, textOf(node)) : textOf);
      }),
    );
  addRead<{ clientcert: string }>('/hiera/:clientcert', (request) => {
    const { clientcert } = request.params;
    return { body: queryFlag(request, 'info') ? reader.explainedRecord(clientcert) : reader.record(clientcert) };
  });
  addRead<{ clientcert: string; key: string }>('/hiera/:clientcert/:key', (request) => {
    const { clientcert, key } = request.params;
    const body = queryFlag(request, 'info') ? reader.explainedValue(clientcert, key) : reader.value(clientcert, key);
    return { body };
  });
  return router;
}

/** Returns the record of a node beside what a program that lists all nodes needs too: its group, and the tag that the record has alone. */
function withGroup({ group }: NodeAtMoment, record: string): string {
  return `{"group":${JSON.stringify(group)},"etag":${JSON.stringify(tagOf(record))},"record":${record}}`;
}

/** Returns work that writes what `textOf` returns of each node, as JSON, as one JSON object. */
export function* writeRecords(
  nodes: Steps<readonly NodeAtMoment[]>,
  textOf: (node: NodeAtMoment) => string,
): Steps<PiecedAnswer> {
  const answer = new AnswerWriter();
  let before = '{';
  let count = 0;
  for (const node of yield* nodes) {
    answer.add(`${before}${JSON.stringify(node.name)}:${textOf(node)}`);
    before = ',';
    count += 1;
    if (count % RECORDS_A_STEP === 0) yield;
  }
  answer.add(count === 0 ? '{}' : '}');
  return answer.end();
}
