import { expect, test } from 'vitest';
import { parseYaml } from '../../src/catalog/yaml.ts';

const MERGE = 'merge the two versions, and remove the lines that begin with <<<<<<<, ======= and >>>>>>>';
const CONFLICT = 'this is a Git conflict marker';
const OTHER =
  'check the indentation and the quotes here and in the line above; a text needs quotes if it begins with a special character or contains ": "';

test.each([
  ['<<<<<<< HEAD\r\nb: 1\r\n=======\r\nb: 2\r\n>>>>>>> x\r\n', '1:1', CONFLICT, MERGE],
  ['a: x\n=======\nb: 2\n>>>>>>> x\n', '2:1', CONFLICT, MERGE],
  ['a:\n  - x\n<<<<<<< HEAD\n  - b\n=======\n  - c\n>>>>>>> x\n', '3:1', CONFLICT, MERGE],
  [
    '- x: echo a: b # c',
    '1:6',
    'the value "echo a: b" contains a colon before a space',
    'put it in quotes: "echo a: b"',
  ],
  ['a: { b: [c, d], e: ^f: }', '1:20', 'the value "^f:" contains a colon before a space', 'put it in quotes: "^f:"'],
  ['a:\n  \tb: 1', '2:3', 'the indentation contains a tab', 'indent with spaces'],
  ['\ta: 1', '1:1', 'the indentation contains a tab', 'indent with spaces'],
  ['a: 1\nb:2\nc: 3', '2:1', '"b:2" needs a space after the colon', 'write b: 2'],
  ['-\ta: 1\n\tb: 2', '1:2', 'the indentation contains a tab', 'indent with spaces'],
  ['- \ta: 1\n', '1:3', 'the indentation contains a tab', 'indent with spaces'],
  ['a: 1\nb', '2:1', '"b" has no colon', 'write it as "key: value"'],
  ['a:\n  b: 1\n  c\n\n# d\n', '3:3', '"c" has no colon', 'write it as "key: value"'],
  ['a: 1\r\nb # c\r\n', '2:1', '"b" has no colon', 'write it as "key: value"'],
  ['a: [1, 2', '1:9', 'the file ends inside a "[" or "{" that is not closed', 'add the missing "]" or "}"'],
  ['a: "x', '1:6', 'the file ends inside a text in " that is not closed', 'add the missing "'],
  ["a: 'x", '1:6', "the file ends inside a text in ' that is not closed", "add the missing '"],
  [
    "- a: 'x\n",
    '1:6',
    "the ' here is not closed",
    'close it; if it has several lines, indent them deeper than its key',
  ],
  [
    'a:\n  b: [x,\nc: 1',
    '2:6',
    'the [ here is not closed',
    'close it; if it has several lines, indent them deeper than its key',
  ],
  [
    'a: [\n  x\nc: 1',
    '3:1',
    'a text or list that begins above is not closed before this line',
    'close it; if it has several lines, indent them deeper than its key',
  ],
  ['a: x\x07', '1:5', 'this is not YAML: the stream contains non-printable characters', OTHER],
])('%j', (text, place, message, hint) => {
  const { value, problems } = parseYaml('a.yaml', text);
  expect(value).toBeUndefined();
  expect(problems).toEqual([
    {
      code: 'yaml_syntax',
      severity: 'error',
      file: 'a.yaml',
      line: Number(place.split(':')[0]),
      column: Number(place.split(':')[1]),
      pointer: '',
      message,
      hint,
    },
  ]);
});
