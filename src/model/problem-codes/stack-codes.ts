// Codes of problems with templates and instances.
import type { CodeEntry, CodeGroup, ExampleFiles } from './code-entry.ts';

const TEMPLATE = 'stacks/templates/database.yaml';
const SHOP = 'stacks/instances/shop.yaml';
const SHOP_FIELDS = 'stackTemplate: web\nparameters: { port: "80" }\n';

/** Returns the template `database` with one server that has these properties. */
function server(properties: string, parameters?: string): ExampleFiles {
  const declared = parameters === undefined ? '' : `parameters: { ${parameters} }\n`;
  return {
    [TEMPLATE]: `${declared}resources:\n  server:\n    type: Platform::Server\n    properties: { role: database, ${properties} }\n`,
  };
}

/** Returns the template `database` with a group of these properties, whose members have the others. */
function group(properties: string, members = 'role: database'): ExampleFiles {
  return {
    [TEMPLATE]: `resources:\n  server:\n    type: Platform::ResourceGroup\n    properties:\n      ${properties}\n      resource_def:\n        properties: { ${members} }\n`,
  };
}

/** Returns the template `database` with two servers that have these properties. */
function pair(first: string, second: string): ExampleFiles {
  return {
    [TEMPLATE]: `resources:\n  server:\n    type: Platform::Server\n    properties: { role: database, ${first} }\n  replica:\n    type: Platform::Server\n    properties: { role: database, ${second} }\n`,
  };
}

function shop(more: string): ExampleFiles {
  return { [SHOP]: `${SHOP_FIELDS}${more}` };
}

const LARGE_GROUPS = ['a', 'b', 'c', 'd', 'e', 'f'];

function largeGroup(key: string): string {
  return `  ${key}:\n    type: Platform::ResourceGroup\n    properties: { count: "10000", resource_def: { properties: { role: database } } }\n`;
}

const CODES = {
  array_in_group_property: {
    severity: 'error',
    meaning: 'an Array placeholder stands in `count`, `index_start`, `max_unavailable` or `pause_seconds`',
    remedy: 'use a parameter',
    example: {
      wrong: group(`count: "<<(Array)['server']['name']>>"`),
      right: group('count: "2"'),
    },
  },
  bad_amendment: {
    severity: 'error',
    meaning:
      'a substraction holds something that takes nothing away, or an addition or substraction names all parameters or resources at once',
    remedy: 'a leaf of a substraction is `{}`, `null`, `""` or `true`',
    example: {
      wrong: shop('stackTemplateSubstractions: { parameters: null }\n'),
      right: {
        ...shop('stackTemplateSubstractions: { parameters: { tls: {} } }\n'),
        'stacks/templates/web.yaml':
          'parameters: { port: "", tls: "on" }\nresources:\n  web:\n    type: Platform::Server\n    properties: { role: web, port: "<<port>>" }\n',
      },
    },
  },
  bad_group_property: {
    severity: 'error',
    meaning: 'a number of a group is none, or is out of its range',
    remedy: 'the message says what it has to be',
    example: { wrong: group('count: many'), right: group('count: "2"') },
  },
  bad_retired_index: {
    severity: 'error',
    meaning: 'a retired index is no list of numbers as strings, or is below `index_start`',
    remedy: 'write `index: ["2"]`',
    example: {
      wrong: shop('stackTemplateSubstractions: { resources: { web: { index: ["0"] } } }\n'),
      right: shop('stackTemplateSubstractions: { resources: { web: { index: ["2"] } } }\n'),
    },
  },
  bad_server_name: {
    severity: 'error',
    meaning: "a server's name holds characters that names cannot have, is too long, empty, a list, or `all`",
    remedy: 'change the property `name`, or the parameter it is made of',
    example: { wrong: server('name: "orders db"'), right: server('name: orders-db') },
  },
  dependency_cycle: {
    severity: 'error',
    meaning: 'servers or resources depend on one another in a circle, which the message shows',
    remedy: 'remove one of these `depends_on`',
    example: {
      wrong: pair('depends_on: replica', 'depends_on: server'),
      right: pair('listen: "5432"', 'depends_on: server'),
    },
  },
  duplicate_server_name: {
    severity: 'error',
    meaning: 'two servers of a stack have one name, or names that differ in case only',
    remedy: 'put `<<index>>` into the name of members; rename one of two resources',
    example: {
      wrong: group('count: "2"', 'role: database, name: orders-db'),
      right: group('count: "2"', 'role: database, name: "orders-db-<<index>>"'),
    },
  },
  index_outside_group: {
    severity: 'error',
    meaning: '`<<index>>` stands where no member is',
    remedy: 'use it in `resource_def.properties`; write `<<<index>>` for the text itself',
    example: {
      wrong: server('name: "orders-db-<<index>>"'),
      right: group('count: "1"', 'role: database, name: "orders-db-<<index>>"'),
    },
  },
  missing_parameter: {
    severity: 'error',
    meaning: 'a parameter has neither a default nor a value',
    remedy: 'give it a value in the instance',
    example: { wrong: { [SHOP]: 'stackTemplate: web\n' }, right: { [SHOP]: SHOP_FIELDS } },
  },
  not_a_placeholder: {
    severity: 'warning',
    meaning: `a text looks like a placeholder and is none, such as \`<< zone >>\`, \`<<zone>\`, or \`\${zone}\` and \`{{ zone }}\` with the name of a parameter`,
    remedy: 'write one of the three forms, without spaces',
    example: {
      wrong: server('motd: "in << site >>"', 'site: attic'),
      right: server('motd: "in <<site>>"', 'site: attic'),
    },
  },
  nothing_to_take_away: {
    severity: 'warning',
    meaning: 'a substraction names what is not there',
    remedy: 'correct the spelling, or remove it',
    example: {
      wrong: shop(
        'stackTemplateSubstractions: { resources: { web: { properties: { resource_def: { properties: { prot: {} } } } } } }\n',
      ),
      right: shop(
        'stackTemplateSubstractions: { resources: { web: { properties: { resource_def: { properties: { port: {} } } } } } }\n',
      ),
    },
  },
  stack_too_large: {
    severity: 'error',
    meaning:
      'a stack has more than 50,000 servers, 5,000,000 dependencies or 64 MiB of values, or what is wanted of its servers takes more than 128 MiB ([limits](concepts.md#limits))',
    remedy: 'depend on or list fewer servers, or divide the stack',
    example: {
      wrong: {
        [TEMPLATE]: {
          shown: `resources:\n${largeGroup('a')}  …    # and five more groups like this one\n`,
          text: () => `resources:\n${LARGE_GROUPS.map(largeGroup).join('')}`,
        },
      },
      right: group('count: "100"'),
    },
  },
  taken_away_but_used: {
    severity: 'error',
    meaning: 'a substraction takes away what a placeholder or `depends_on` still needs',
    remedy: 'take that away too, or add another value for it',
    example: {
      wrong: shop('stackTemplateSubstractions: { parameters: { zone: {} } }\n'),
      right: shop(
        'stackTemplateSubstractions:\n  parameters: { zone: {} }\n  resources: { web: { properties: { resource_def: { properties: { zone: {} } } } } }\n',
      ),
    },
  },
  undeclared_parameter: {
    severity: 'error',
    meaning: 'an instance gives a value to a parameter that its template does not have',
    remedy: 'correct the spelling, or declare it in the template',
    example: {
      wrong: { [SHOP]: 'stackTemplate: web\nparameters: { port: "80", cuont: "3" }\n' },
      right: { [SHOP]: 'stackTemplate: web\nparameters: { port: "80", count: "3" }\n' },
    },
  },
  undeclared_placeholder: {
    severity: 'error',
    meaning: '`<<x>>` names no parameter',
    remedy: 'correct the spelling, declare it, or write `<<<x>>` for the text itself',
    example: {
      wrong: server('motd: "in <<site>>"'),
      right: server('motd: "in <<site>>"', 'site: attic'),
    },
  },
  unknown_array_property: {
    severity: 'error',
    meaning: 'an Array placeholder names a property that the resource does not have',
    remedy: 'add the property, or correct the spelling',
    example: {
      wrong: pair('ip: 192.0.2.1', `primary: "<<(Array)['server']['address']>>"`),
      right: pair('ip: 192.0.2.1', `primary: "<<(Array)['server']['ip']>>"`),
    },
  },
  unknown_array_resource: {
    severity: 'error',
    meaning: 'an Array placeholder names a resource key that is not in the template',
    remedy: 'correct the spelling',
    example: {
      wrong: pair('ip: 192.0.2.1', `primary: "<<(Array)['servr']['ip']>>"`),
      right: pair('ip: 192.0.2.1', `primary: "<<(Array)['server']['ip']>>"`),
    },
  },
  unknown_configuration_only: {
    severity: 'warning',
    meaning: '`configuration_only` names what is no property',
    remedy: 'correct the spelling, or remove it',
    example: {
      wrong: server('port: "5432", configuration_only: prot'),
      right: server('port: "5432", configuration_only: port'),
    },
  },
  unknown_kind: {
    severity: 'error',
    meaning: 'a resource is neither a `Platform::Server` nor a `Platform::ResourceGroup`',
    remedy: 'correct its `type`',
    example: {
      wrong: shop('stackTemplateAdditions:\n  resources:\n    mail: { properties: { role: web } }\n'),
      right: shop(
        'stackTemplateAdditions:\n  resources:\n    mail: { type: "Platform::Server", properties: { role: web } }\n',
      ),
    },
  },
  value_cycle: {
    severity: 'error',
    meaning: 'values list one another in a circle, which the message shows',
    remedy: 'write one of them without an Array placeholder',
    example: {
      wrong: pair(`peer: "<<(Array)['replica']['peer']>>"`, `peer: "<<(Array)['server']['peer']>>"`),
      right: pair(`peer: "<<(Array)['replica']['name']>>"`, `peer: "<<(Array)['server']['name']>>"`),
    },
  },
  value_too_large: {
    severity: 'error',
    meaning:
      'a text of any file is longer than 65,536 characters; or a value becomes longer than that, or than 10,000 items',
    remedy: 'keep it elsewhere; let an Array placeholder be the whole value, or shorten it',
    example: {
      wrong: {
        'types/role/web.yaml': {
          shown: 'logo: iVBORw0KGgoAAAANSUhEUgAA…    # 65,537 characters\n',
          text: () => `logo: ${'x'.repeat(65_537)}\n`,
        },
      },
      right: { 'types/role/web.yaml': 'logo: https://files.example.org/logo.png\n' },
    },
  },
} as const satisfies Record<string, CodeEntry>;

/** The codes of templates and instances. */
export const STACK_CODES: CodeGroup<typeof CODES> = {
  heading: 'Templates and instances',
  intro: 'A mistake of a template is reported once, in the template, with the instances that it stops.',
  codes: CODES,
};
