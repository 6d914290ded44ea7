// Finds the read that a plain path asks for: one without a query, and without a character that needs decoding. The routes
// answer the same paths; test/api/direct-reads.test.ts compares both.
import type { AnswerSources } from '../model/answer-sources.ts';
import type { NodeAtMoment, NodeRecord, RecordValue } from '../model/record.ts';
import type { Reader } from '../service/reader.ts';
import type { ReadAnswer } from './present.ts';

/** One read at this moment. */
interface DirectRead {
  readonly sources: AnswerSources;
  /** Returns undefined where the routes have to answer. Throws ServiceError for what is refused. */
  readonly make: () => ReadAnswer | undefined;
}

type Find = (reader: Reader, first: string, second: string) => DirectRead | undefined;

/** By path; each `*` is a name. Every registered client may have each of them. */
const READS: readonly (readonly [path: string, find: Find])[] = [
  ['/hiera/*', (reader, name) => readOfNode(reader, name, (node) => node.record())],
  ['/hiera/*/*', (reader, name, key) => readOfNode(reader, name, (node) => node.value(key)?.value)],
  ['/stacks/instances', ({ sources }) => readOf(sources.instances(), madeByRoute)],
  ['/stacks/instances/*', ({ sources, instance }, name) => readOf(sources.instance(name), () => instance(name))],
  [
    '/stacks/instances/*/status/full',
    ({ sources, statusFull }, name) => readOf(sources.instance(name), () => ({ body: statusFull(name) })),
  ],
  ['/stacks/templates', ({ sources, templates }) => readOf(sources.templates(), () => ({ body: templates() }))],
  ['/stacks/templates/*', ({ sources, template }, name) => readOf(sources.template(name), () => template(name))],
  ['/types/*', ({ sources }, type) => readOf(sources.objects(type), madeByRoute)],
  ['/types/*/*', ({ sources, object }, type, name) => readOf(sources.object(type, name), () => object(type, name))],
  ['/tree', ({ sources, tree }) => readOf(sources.tree(), () => tree())],
];

const PATTERNS = READS.map(([path, find]) => {
  return { pattern: new RegExp(`^${path.replaceAll('*', '([\\w.-]+)')}/?$`), find };
});

/** Returns the read that a path asks for; undefined where the routes have to answer. Throws ServiceError `not_ready`. */
export function findDirectRead(reader: Reader, path: string): DirectRead | undefined {
  for (const { pattern, find } of PATTERNS) {
    const match = pattern.exec(path);
    if (match !== null) return find(reader, match[1] ?? '', match[2] ?? '');
  }
  return undefined;
}

/** Lists may be long: their routes make them in slices, and keep them where this way finds them. */
function madeByRoute(): undefined {
  return undefined;
}

function readOf(sources: AnswerSources | undefined, make: DirectRead['make']): DirectRead | undefined {
  return sources === undefined ? undefined : { sources, make };
}

function readOfNode(
  reader: Reader,
  name: string,
  ask: (node: NodeAtMoment) => RecordValue | NodeRecord | undefined,
): DirectRead | undefined {
  // `/hiera/all` is another read, whose answer is made in slices.
  const node = name === 'all' ? undefined : reader.findNode(name);
  return readOf(node?.sources, () => {
    const body = node && ask(node);
    return body === undefined ? undefined : { body };
  });
}
