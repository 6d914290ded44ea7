import { testWrongFiles } from './wrong-file.ts';

const REMOVAL = 'has to be {}, null, "" or true to remove the key, or a map of what to remove below it';

testWrongFiles([
  [
    'stacks/instances/eu.yaml',
    ['stackTemplate: shop', 'protected: no'],
    [
      [
        '2:12',
        'wrong_type',
        '/protected',
        '"protected" is the text "no", but has to be true or false',
        'write false, without quotes',
      ],
    ],
  ],
  [
    'stacks/instances/eu.yaml',
    ['resources:', '  web: { type: Platform::Server, properties: { role: web } }'],
    [
      [
        '1:1',
        'missing_field',
        '',
        'the file lacks the field "stackTemplate"',
        'a file with "resources" is a template: move it into stacks/templates/',
      ],
    ],
  ],
  [
    'stacks/templates/eu.yaml',
    ['stackTemplate: shop'],
    [
      [
        '1:1',
        'unknown_field',
        '/stackTemplate',
        'the field "stackTemplate" is not known here',
        'a file with "stackTemplate" is an instance: move it into stacks/instances/',
      ],
    ],
  ],
  [
    'stacks/instances/eu.yaml',
    ['stackTemplte: shop', 'drift: heel', 'deletion: keep-it', 'protected: "yes"', 'adopt:'],
    [
      ['1:1', 'missing_field', '', 'the file lacks the field "stackTemplate"', 'add "stackTemplate:"'],
      [
        '1:1',
        'unknown_field',
        '/stackTemplte',
        'the field "stackTemplte" is not known here',
        'did you mean "stackTemplate"?',
      ],
      [
        '4:12',
        'wrong_type',
        '/protected',
        '"protected" is the text "yes", but has to be true or false',
        'write true, without quotes',
      ],
      [
        '3:11',
        'wrong_value',
        '/deletion',
        '"deletion" is the text "keep-it", but has to be one of "delete", "retain"',
        null,
      ],
      [
        '2:8',
        'wrong_value',
        '/drift',
        '"drift" is the text "heel", but has to be one of "report", "heal", "off"',
        'did you mean "heal"?',
      ],
      ['5:1', 'wrong_type', '/adopt', '"adopt" is empty, but has to be true or false', 'leave the field out'],
    ],
  ],
  [
    'stacks/instances/eu.yaml',
    ['<<: { stackTemplate: shop }', 'parameters:'],
    [
      [
        '1:1',
        'yaml_merge_key',
        '/<<',
        'the merge key "<<" is not supported',
        'write the fields out; shared configuration belongs into a more general layer',
      ],
      [
        '2:1',
        'wrong_type',
        '/parameters',
        '"parameters" is empty, but has to be a map',
        'leave the field out, or write {}',
      ],
    ],
  ],
  [
    'stacks/instances/eu.yaml',
    [
      'stackTemplate: ""',
      'parameters: { count: 03, on: true }',
      'stackTemplateAdditions: { resource: {}, resources: { web: { properties: { count: 5, x: { y: z } } } } }',
      'stackTemplateSubstractions: { resources: { a: 1, b: false, c: no, d: [x], web: { index: [2, "x"] } } }',
    ],
    [
      [
        '1:16',
        'wrong_value',
        '/stackTemplate',
        '"stackTemplate" is an empty text, but has to be a text that is not empty',
        null,
      ],
      [
        '3:27',
        'unknown_field',
        '/stackTemplateAdditions/resource',
        'the field "resource" is not known here',
        'did you mean "resources"?',
      ],
      [
        '3:82',
        'wrong_type',
        '/stackTemplateAdditions/resources/web/properties/count',
        '"count" is the number 5, but has to be a text',
        'put it in quotes: "5"',
      ],
      [
        '3:88',
        'wrong_type',
        '/stackTemplateAdditions/resources/web/properties/x',
        '"x" is a map, but has to be a text or a list of texts',
        null,
      ],
      ['4:47', 'wrong_type', '/stackTemplateSubstractions/resources/a', `"a" is the number 1, but ${REMOVAL}`, null],
      ['4:53', 'wrong_value', '/stackTemplateSubstractions/resources/b', `"b" is false, but ${REMOVAL}`, null],
      ['4:63', 'wrong_value', '/stackTemplateSubstractions/resources/c', `"c" is the text "no", but ${REMOVAL}`, null],
      ['4:70', 'wrong_type', '/stackTemplateSubstractions/resources/d', `"d" is a list, but ${REMOVAL}`, null],
      [
        '4:90',
        'wrong_type',
        '/stackTemplateSubstractions/resources/web/index/0',
        'item 1 of "index" is the number 2, but has to be an index in quotes, such as "2"',
        'put it in quotes: "2"',
      ],
      [
        '4:93',
        'wrong_value',
        '/stackTemplateSubstractions/resources/web/index/1',
        'item 2 of "index" is the text "x", but has to be an index in quotes, such as "2"',
        null,
      ],
      [
        '2:22',
        'wrong_type',
        '/parameters/count',
        '"count" is the number 03, but has to be a text',
        'put it in quotes: "03"',
      ],
      ['2:30', 'wrong_type', '/parameters/on', '"on" is true, but has to be a text', 'put it in quotes: "true"'],
    ],
  ],
  [
    'stacks/instances/eu.yaml',
    [
      'stackTemplate: shop',
      'resources: {}',
      'parameters:',
      '  a: x-<<index>>',
      "  b: <<(Array)['web']['name']>>",
      '  c: <<<a>>',
      '  d: << a >>',
    ],
    [
      [
        '2:1 warning',
        'ignored_field',
        '/resources',
        '"resources" of an instance is not read: it is what Treeline reports',
        'leave it out; to change what the stack consists of, use stackTemplateAdditions',
      ],
      [
        '4:6',
        'placeholder_in_parameter',
        '/parameters/a',
        'the placeholder in "x-<<index>>" would never be replaced',
        'parameters hold plain text; put the placeholder into the property',
      ],
      [
        '5:6',
        'placeholder_in_parameter',
        '/parameters/b',
        "the placeholder in \"<<(Array)['web']['name']>>\" would never be replaced",
        'parameters hold plain text; put the placeholder into the property',
      ],
    ],
  ],
]);
