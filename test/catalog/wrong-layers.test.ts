import { testWrongFiles } from './wrong-file.ts';

const KEY_RULE =
  'a key holds letters, digits, "_", "-" and ":" only, and is none of lookup_options, stackInstance, last_stack_update, constructor, prototype';
const FLAT = 'has to be a text, a number, true or false, null, or a list of texts: configuration is flat';

testWrongFiles([
  ['types/zone/dmz.yaml', ['- a'], [['1:1', 'wrong_type', '', 'the file is a list, but has to be a map', null]]],
  [
    'types/zone/dmz.yaml',
    ['just text'],
    [['1:1', 'wrong_type', '', 'the file is the text "just text", but has to be a map', null]],
  ],
  [
    'types/zone/dmz.yaml',
    ['name: dmx', 'type: zon', 'description: 5', 'tenant:'],
    [
      ['2:7', 'wrong_value', '/type', '"type" is the text "zon", but has to be "zone"', 'did you mean "zone"?'],
      [
        '3:14',
        'wrong_type',
        '/description',
        '"description" is the number 5, but has to be a text',
        'put it in quotes: "5"',
      ],
      ['4:1', 'wrong_type', '/tenant', '"tenant" is empty, but has to be a text', 'for an empty text write ""'],
    ],
  ],
  [
    'types/zone/dmz.yaml',
    ['name: dmx'],
    [
      [
        '1:7',
        'name_mismatch',
        '/name',
        'the name "dmx" is not the file\'s name "dmz"',
        'write "dmz" or leave the field out; to rename the object, rename the file',
      ],
    ],
  ],
  [
    'types/zone/dmz.yaml',
    ['dns: { a: b }', 'ntp: [a, 1.10, [b], true]'],
    [
      ['1:6', 'wrong_type', '/dns', `"dns" is a map, but ${FLAT}`, null],
      [
        '2:10',
        'wrong_type',
        '/ntp/1',
        'item 2 of "ntp" is the number 1.10, but has to be a text',
        'put it in quotes: "1.10"',
      ],
      ['2:16', 'wrong_type', '/ntp/2', 'item 3 of "ntp" is a list, but has to be a text', null],
      ['2:21', 'wrong_type', '/ntp/3', 'item 4 of "ntp" is true, but has to be a text', 'put it in quotes: "true"'],
    ],
  ],
  [
    'types/zone/dmz.yaml',
    ['debug: yes', 'cache: No', 'a: "yes"', 'b: constructor', 'c: [no]'],
    [
      [
        '1:8 warning',
        'boolean_spelling',
        '/debug',
        'yes is read as the text "yes"',
        'write true, or put it in quotes if the text is meant: "yes"',
      ],
      [
        '2:8 warning',
        'boolean_spelling',
        '/cache',
        'No is read as the text "No"',
        'write false, or put it in quotes if the text is meant: "No"',
      ],
    ],
  ],
  [
    'types/zone/dmz.yaml',
    ['app_version: 1.10'],
    [
      [
        '1:14 warning',
        'number_spelling',
        '/app_version',
        '1.10 is read as the number 1.1',
        'to keep it as written, put it in quotes: "1.10"',
      ],
    ],
  ],
  [
    'types/common/global.yaml',
    ['a.b: 1', 'c/d: 1', 'stackInstance: x', 'constructor: x', '"e\\tf": 1', 'pass\u200bword: x', 'p\u0430ss: x'],
    [
      ['1:1', 'bad_key', '/a.b', `the key "a.b" cannot be used: ${KEY_RULE}`, 'choose another name'],
      ['2:1', 'bad_key', '/c~1d', `the key "c/d" cannot be used: ${KEY_RULE}`, 'choose another name'],
      [
        '3:1',
        'bad_key',
        '/stackInstance',
        `the key "stackInstance" cannot be used: ${KEY_RULE}`,
        'choose another name',
      ],
      ['4:1', 'bad_key', '/constructor', `the key "constructor" cannot be used: ${KEY_RULE}`, 'choose another name'],
      ['5:1', 'bad_key', '/e\tf', `the key "e\\tf" cannot be used: ${KEY_RULE}`, 'choose another name'],
      [
        '6:1',
        'bad_key',
        '/pass\u200bword',
        `the key "pass\u200bword" with U+200B cannot be used: ${KEY_RULE}`,
        'choose another name',
      ],
      [
        '7:1',
        'bad_key',
        '/p\u0430ss',
        `the key "p\u0430ss" with U+0430 cannot be used: ${KEY_RULE}`,
        'choose another name',
      ],
    ],
  ],
  [
    'types/shape/small.yaml',
    ['location: lab', 'cpu: 2', 'role: db'],
    [
      [
        '1:1',
        'selector_in_layer',
        '/location',
        '"location" selects a layer, and an object of the type "shape" is one: it cannot select another',
        'set "location" in the server\'s properties, or in a clientcert that no stack makes',
      ],
      [
        '3:1',
        'selector_in_layer',
        '/role',
        '"role" selects a layer, and an object of the type "shape" is one: it cannot select another',
        'set "role" in the server\'s properties, or in a clientcert that no stack makes',
      ],
    ],
  ],
  [
    'types/clientcert/lab.yaml',
    ['zone: 5', 'role: [a]'],
    [
      ['1:7', 'wrong_type', '/zone', '"zone" is the number 5, but has to be a text or null', 'put it in quotes: "5"'],
      ['2:7', 'wrong_type', '/role', '"role" is a list, but has to be a text or null', null],
    ],
  ],
  [
    'types/zone/dmz.yaml',
    ['a: &x 1', 'b: *x', 'description: *x'],
    [
      [
        '1:4',
        'yaml_anchor',
        '/a',
        'the anchor "&x" is not supported',
        'leave it out; a text that begins with "&" needs quotes: "&x"',
      ],
      [
        '2:4',
        'yaml_anchor',
        '/b',
        'the alias "*x" is not supported',
        'write the value out; a text that begins with "*" needs quotes: "*x"',
      ],
      [
        '3:14',
        'yaml_anchor',
        '/description',
        'the alias "*x" is not supported',
        'write the value out; a text that begins with "*" needs quotes: "*x"',
      ],
    ],
  ],
]);
