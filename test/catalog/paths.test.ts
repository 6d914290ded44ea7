import { expect, test } from 'vitest';
import { isObjectPath, placePath } from '../../src/catalog/paths.ts';

test.each([
  ['tree.yaml', 'tree', 'tree'],
  ['hierarchy.yaml', 'hierarchy', 'hierarchy'],
  ['types/zone/dmz.yaml', 'zone', 'dmz'],
  ['types/stack-snapshot/a/b/c.yaml', 'stack-snapshot', 'c'],
  ['types/clientcert/all.x.yaml', 'clientcert', 'all.x'],
  ['types/zone/all.yaml', 'zone', 'all'],
  ['stacks/templates/shop.yaml', 'stack-template', 'shop'],
  ['stacks/instances/shop/eu.yaml', 'stack-instance', 'eu'],
  ['clients/0A1B.yaml', 'client', '0A1B'],
  ['clients/proxies/FF.yaml', 'client', 'FF'],
])('%s is the file of the %s %s', (path, type, name) => {
  expect(placePath(path, '100644')).toEqual({ type, name });
  expect(placePath(path, '100755')).toEqual({ type, name });
});

test.each([
  'README.md',
  'docs/tree.yaml',
  'types',
  'types/README.md',
  'types/zone/README.md',
  'types/zone/dmz.yaml.bak',
  'stacks/README.md',
  'stacks/other/shop.json',
  'stacks/templates',
  'styles/shop.yaml',
  'docs/types/shop.yaml',
  'instances',
  'types.yaml',
  'clients/.gitkeep',
  'clients',
  'ci/x.yml',
])('%s is ignored', (path) => {
  expect(placePath(path, '100644')).toBeUndefined();
});

const NAME_HINT = 'a name contains letters, digits, ".", "_" and "-", and begins with a letter or digit';

test.each([
  [
    'types/network/x.yaml',
    'unknown_type_folder',
    'the folder "network" is not named after a type',
    'the types are: zone, environment, shape, stack-snapshot, role, location, action, configuration, clientcert, common',
  ],
  [
    'types/all/x.yaml',
    'unknown_type_folder',
    'objects of the type "all" do not belong below "types"',
    'the types are: zone, environment, shape, stack-snapshot, role, location, action, configuration, clientcert, common',
  ],
  ['types/zone/-a.yaml', 'bad_name', 'the name "-a" does not begin with a letter or digit', NAME_HINT],
  [
    'types/zone/d\u200bmz.yaml',
    'bad_name',
    'the name "d\u200bmz" with U+200B contains something other than letters, digits, ".", "_" and "-"',
    NAME_HINT,
  ],
  ['types/zone/.yaml', 'bad_name', 'the name "" is empty', NAME_HINT],
  ['stacks/templates/a..b.yaml', 'bad_name', 'the name "a..b" contains ".."', NAME_HINT],
  [
    'types/clientcert/all.yaml',
    'bad_name',
    'a clientcert cannot be called "all"',
    '/hiera/all lists every record; choose another name',
  ],
  [
    'clients/alice.yaml',
    'client_file_name',
    '"alice" is not a serial number: "l" is not a hexadecimal digit',
    "name the file after the certificate's serial number in upper-case hexadecimal",
  ],
])('%s is an error', (path, code, message, hint) => {
  expect(placePath(path, '100644')).toEqual({ stray: { code, message, hint } });
});

test.each([
  ['tree.yml', 'wrong_extension', 'a file ending in ".yml" is not read', 'rename it to tree.yaml'],
  ['hierarchy.YAML', 'wrong_extension', 'a file ending in ".YAML" is not read', 'rename it to hierarchy.yaml'],
  [
    'stacks/other/shop.yaml',
    'misplaced_file',
    'a file below "stacks/other" is not read',
    'move it into stacks/templates/ or stacks/instances/',
  ],
  ['stack/instances/shop.yaml', 'misplaced_file', 'a file below "stack" is not read', 'did you mean "stacks"?'],
  ['Types/zone/dmz.yaml', 'misplaced_file', 'a file below "Types" is not read', 'did you mean "types"?'],
  ['instances/shop.yaml', 'misplaced_file', 'a file below "instances" is not read', 'did you mean "stacks/instances"?'],
])('%s is a warning', (path, code, message, hint) => {
  expect(placePath(path, '100644')).toEqual({ stray: { code, severity: 'warning', message, hint } });
});

test.each([
  ['tree.yaml', true],
  ['types', true],
  ['stacks', true],
  ['stacks/instances', true],
  ['clients', true],
  ['types/zone', true],
  ['types/anything', true],
  ['stacks/instances/README.md', true],
  ['README.md', false],
  ['modules/x', false],
])('a link at %s counts as inside the layout: %s', (path, isInside) => {
  const stray = (kind: string) => ({
    stray: {
      code: 'not_a_file',
      message: `"${path}" is a ${kind}, which is not followed`,
      hint: 'commit the files themselves',
    },
  });
  expect(placePath(path, '120000')).toEqual(isInside ? stray('symbolic link') : undefined);
  expect(placePath(path, '160000')).toEqual(isInside ? stray('submodule') : undefined);
});

test('isObjectPath is true only for paths of objects', () => {
  expect(['tree.yaml', 'tree.yml', 'README.md'].map((path) => isObjectPath(placePath(path, '100644')))).toEqual([
    true,
    false,
    false,
  ]);
});
