// Reads of nodes and their records.

import type { DesiredState } from '../desired/desired-state.ts';
import { nodeAtMoment, nodesAtMoment } from '../desired/node-records.ts';
import type { NodeAtMoment } from '../model/record.ts';
import type { Reader } from './reader.ts';
import type { View } from './recorded-rows.ts';
import { unknownKey, unknownNode } from './unknown-node.ts';

type NodeReads = Pick<Reader, 'nodes' | 'record' | 'explainedRecord' | 'value' | 'explainedValue'>;

/** Returns the reads of nodes. `view` returns the present moment. */
export function nodeReads(view: () => View<DesiredState>): NodeReads {
  function node(name: string): NodeAtMoment {
    return nodeAtMoment(view(), name) ?? unknownNode(view(), name);
  }

  const explainedValue: Reader['explainedValue'] = (name, key) => {
    const { value, record } = node(name);
    const explained = value(key);
    if (explained !== undefined) return explained;
    throw unknownKey(name, key, Object.keys(record()));
  };

  return {
    nodes: () => nodesAtMoment(view()),
    record: (name) => node(name).record(),
    explainedRecord: (name) => node(name).explained(),
    value: (name, key) => explainedValue(name, key).value,
    explainedValue,
  };
}
