// Tests properties of every history of a repository on generated histories.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { DesiredState } from '../src/desired/desired-state.ts';
import { compareNames } from '../src/model/names.ts';
import { linkTo } from './catalog/snapshots.ts';
import { countRuns } from './support/count-runs.ts';
import { explainedRecords } from './support/explained-records.ts';
import { TextRepository } from './support/text-repository.ts';

test('derive returns the same with and without reuse, for any edits of a small repository', () => {
  fc.assert(
    fc.property(fc.array(fc.array(anyEdit(), { minLength: 1, maxLength: 3 }), { maxLength: 6 }), (commits) => {
      const repositories = [new TextRepository(), new TextRepository(false)];
      for (const repository of repositories) repository.commit(SMALL);
      for (const edits of commits) {
        const [withReuse, without] = repositories.map((repository) => repository.try(Object.fromEntries(edits)));
        expect(withReuse?.isFollowed).toBe(without?.isFollowed);
        if (withReuse?.isFollowed && without?.isFollowed) {
          expect(plain(withReuse.desired)).toEqual(plain(without.desired));
        } else if (withReuse?.isFollowed === false && without?.isFollowed === false) {
          expect(withReuse.problems).toEqual(without.problems);
        }
      }
    }),
    { numRuns: countRuns(200) },
  );
});

const ONE =
  'parameters: { name: "", needs: "" }\nresources: { a: { type: "Platform::Server", properties: { name: "<<name>>", depends_on: "<<needs>>", role: r } } }\n';
const SMALL = {
  'tree.yaml': 'name: global\ntype: common\n',
  'stacks/templates/one.yaml': ONE,
  'stacks/instances/x.yaml': 'stackTemplate: one\nparameters: { name: s, needs: "" }\n',
  'types/role/r.yaml': 'a: 1\n',
};

/** An edit of one file: instances that want one another's names and servers, right and wrong templates and objects. */
function anyEdit(): fc.Arbitrary<[path: string, text: string | null]> {
  const server = fc.constantFrom('s', 't', 'S');
  const instance = fc
    .tuple(server, fc.constantFrom('', 's', 't'), fc.constantFrom('one', 'one', 'one', 'two'))
    .map(([name, needs, template]) => `stackTemplate: ${template}\nparameters: { name: ${name}, needs: "${needs}" }\n`);
  const texts = (...values: string[]): fc.Arbitrary<string | null> => fc.constantFrom(...values, null);
  const file = (path: string, text: fc.Arbitrary<string | null>): fc.Arbitrary<[string, string | null]> =>
    fc.tuple(fc.constant(path), text);
  const instanceFile = fc.tuple(
    fc.constantFrom('stacks/instances/x.yaml', 'stacks/instances/y.yaml', 'stacks/instances/z.yaml'),
    fc.oneof({ weight: 6, arbitrary: instance }, texts('a: b: c\n', linkTo('x'))),
  );
  const otherFile = fc.oneof(
    file(
      'stacks/templates/one.yaml',
      texts(ONE, ONE.replace('<<name>>', '<<nam>>'), ONE.replace('role: r', 'role: q')),
    ),
    file('stacks/templates/two.yaml', texts(ONE, 'resources: 1\n')),
    file('types/role/r.yaml', texts('a: 1\n', 'a: 2\n', 'a: {}\n', linkTo('x'))),
    file('types/role/r.yml', texts('a: 1\n')),
    file('stacks/instances/x.yml', texts('a: 1\n')),
    file('types/clientcert/t.yaml', texts('role: r\n', 'b: 1\n', 'role: q\n')),
    file('clients/AA.yaml', texts('role: administrator\n', 'role: proxy\n', 'role: none\n')),
    file('tree.yaml', texts(SMALL['tree.yaml'], 'name: global\ntype: common\ndescription: x\n', 'name: 1\n')),
  );
  return fc.oneof({ weight: 3, arbitrary: instanceFile }, { weight: 1, arbitrary: otherFile });
}

/** A desired state as plain data, but for which of several commits with the same files something was read from. */
function plain(desired: DesiredState): unknown {
  const units = [...desired.units].map(([key, { servers, keys }]) => ({ key, keys, servers: [...servers.values()] }));
  return {
    units: units.sort((a, b) => compareNames(a.key, b.key)),
    owners: [...desired.owners].sort(),
    records: explainedRecords(desired),
    objects: [...desired.objects].map(([address, { entry, commit }]) => [address, entry.object, commit]),
    clients: [...desired.clients].map(([serial, { entry, commit }]) => [serial, entry.object, commit]),
    invalid: [...desired.invalid].sort(),
    problems: desired.problems,
  };
}
