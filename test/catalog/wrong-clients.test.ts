import { testWrongFiles } from './wrong-file.ts';

testWrongFiles([
  [
    'clients/0A1B.yaml',
    ['tags: proxy'],
    [
      [
        '1:1',
        'missing_field',
        '',
        'the file lacks the field "role"',
        'add "role:", one of "administrator", "automation-endpoint", "proxy"',
      ],
      ['1:7', 'wrong_type', '/tags', '"tags" is the text "proxy", but has to be a list', null],
    ],
  ],
  [
    'clients/0A1B.yaml',
    ['role: administrtor', 'rol: x', 'finger_print: x', 'tags:', 'tenant: null'],
    [
      ['2:1', 'unknown_field', '/rol', 'the field "rol" is not known here', 'did you mean "role"?'],
      [
        '3:1',
        'unknown_field',
        '/finger_print',
        'the field "finger_print" is not known here',
        'did you mean "fingerprint"?',
      ],
      [
        '1:7',
        'wrong_value',
        '/role',
        '"role" is the text "administrtor", but has to be one of "administrator", "automation-endpoint", "proxy"',
        'did you mean "administrator"?',
      ],
      ['5:9', 'wrong_type', '/tenant', '"tenant" is null, but has to be a text', 'put it in quotes: "null"'],
      ['4:1', 'wrong_type', '/tags', '"tags" is empty, but has to be a list', 'leave the field out, or write []'],
    ],
  ],
  [
    'clients/1234.yaml',
    ['role: proxy', 'serial: 1234', 'zzz: 1'],
    [
      [
        '3:1',
        'unknown_field',
        '/zzz',
        'the field "zzz" is not known here',
        'known are: name, type, description, role, fingerprint, serial, tenant, tags, node, reads, writes',
      ],
      ['2:9', 'wrong_type', '/serial', '"serial" is the number 1234, but has to be a text', 'put it in quotes: "1234"'],
    ],
  ],
  [
    'clients/0A1B.yaml',
    ['role: proxy', 'name: "0A1C"', 'serial: nonsense', 'fingerprint: ab:cd'],
    [
      [
        '2:7',
        'name_mismatch',
        '/name',
        'the name "0A1C" is not the serial number that the file is named after',
        'rename the file to 0A1C.yaml; or, where its name is right, write "0A1B" or leave the field out',
      ],
      [
        '3:9',
        'name_mismatch',
        '/serial',
        'the serial "nonsense" is not the serial number that the file is named after',
        'write "0A1B" or leave the field out',
      ],
      [
        '4:14',
        'wrong_value',
        '/fingerprint',
        '"ab:cd" is no SHA-256 fingerprint, which has 64 hexadecimal digits',
        'it is shown by: openssl x509 -noout -fingerprint -sha256 -in client.crt',
      ],
    ],
  ],
  [
    'clients/0A1B.yaml',
    ['role: proxy', 'tags: [""]', 'fingerprint: ""'],
    [
      [
        '2:8',
        'wrong_value',
        '/tags/0',
        'item 1 of "tags" is an empty text, but has to be a text that is not empty',
        null,
      ],
    ],
  ],
  [
    'clients/0A1B.yaml',
    ['role: administrator', 'node: -a', 'reads: own', 'writes: nothing'],
    [
      ['3:8', 'wrong_value', '/reads', '"reads" is the text "own", but has to be one of "site", "all"', null],
      ['4:9', 'wrong_value', '/writes', '"writes" is the text "nothing", but has to be one of "none", "all"', null],
    ],
  ],
  [
    'clients/0A1B.yaml',
    ['role: administrator', 'node: -a', 'reads: site', 'writes: none'],
    [
      [
        '2:7',
        'wrong_value',
        '/node',
        '"-a" cannot be the name of a node: it does not begin with a letter or digit',
        "write the node's clientcert name, as in /hiera/<clientcert>/",
      ],
      [
        '1:7 warning',
        'ignored_field',
        '/role',
        'a client with "node" reads and confirms one record: the role "administrator" gives it nothing',
        'write "role: proxy"; or, for an administrator, leave "node" out',
      ],
    ],
  ],
  [
    'clients/0A1B.yaml',
    ['role: proxy', 'node: all'],
    [
      [
        '2:7',
        'wrong_value',
        '/node',
        '"all" cannot be the name of a node: it is the name of a view of all nodes',
        "write the node's clientcert name, as in /hiera/<clientcert>/",
      ],
    ],
  ],
]);
