// Codes of problems with the fields of an object.
import type { CodeEntry, CodeGroup } from './code-entry.ts';

const SHOP = 'stacks/instances/shop.yaml';
const RIGHT_SHOP = { [SHOP]: 'stackTemplate: web\nparameters: { port: "80" }\n' };

const CODES = {
  bad_key: {
    severity: 'error',
    meaning:
      'a configuration key, parameter or resource key has a name that it cannot have, or any key has more than 250 characters',
    remedy: 'choose another name',
    example: {
      wrong: { 'types/role/web.yaml': 'nginx.workers: 4\n' },
      right: { 'types/role/web.yaml': 'nginx_workers: 4\n' },
    },
  },
  ignored_field: {
    severity: 'warning',
    meaning: "an instance's file has `resources`",
    remedy: "leave it out: states are Treeline's report",
    example: {
      wrong: { [SHOP]: 'stackTemplate: web\nparameters: { port: "80" }\nresources: {}\n' },
      right: RIGHT_SHOP,
    },
  },
  missing_field: {
    severity: 'error',
    meaning: 'a required field is not there',
    remedy: 'add it',
    example: { wrong: { [SHOP]: 'parameters: { port: "80" }\n' }, right: RIGHT_SHOP },
  },
  placeholder_in_parameter: {
    severity: 'error',
    meaning: 'the value of a parameter holds a placeholder, which would never be replaced',
    remedy: 'put the placeholder into the property',
    example: { wrong: { [SHOP]: 'stackTemplate: web\nparameters: { port: "<<zone>>" }\n' }, right: RIGHT_SHOP },
  },
  selector_in_layer: {
    severity: 'error',
    meaning: 'an object that is a layer sets `environment`, `location`, `zone`, `shape`, `role` or `configuration`',
    remedy: "set it in the server's properties, or in a clientcert that no stack makes",
    example: {
      wrong: { 'types/role/web.yaml': 'zone: dmz\n' },
      right: { 'types/clientcert/lab.yaml': 'environment: production\nzone: dmz\n' },
    },
  },
  unknown_field: {
    severity: 'error',
    meaning: 'a field that the object does not have',
    remedy: 'correct the spelling, or remove it',
    example: {
      wrong: { [SHOP]: 'stackTemplate: web\nparameters: { port: "80" }\nprotcted: true\n' },
      right: { [SHOP]: 'stackTemplate: web\nparameters: { port: "80" }\nprotected: true\n' },
    },
  },
  wrong_type: {
    severity: 'error',
    meaning: 'a value of the wrong kind, such as a number where a text has to be',
    remedy: 'the hint shows the quoted form',
    example: { wrong: { [SHOP]: 'stackTemplate: web\nparameters: { port: 80 }\n' }, right: RIGHT_SHOP },
  },
  wrong_value: {
    severity: 'error',
    meaning: 'a value of the right kind that cannot be used',
    remedy: 'the message says what it has to be',
    example: {
      wrong: { [SHOP]: 'stackTemplate: web\nparameters: { port: "80" }\ndrift: heel\n' },
      right: { [SHOP]: 'stackTemplate: web\nparameters: { port: "80" }\ndrift: heal\n' },
    },
  },
} as const satisfies Record<string, CodeEntry>;

/** The codes of fields. */
export const FIELD_CODES: CodeGroup<typeof CODES> = {
  heading: 'Fields',
  intro: 'Of what does not fit its schema, the first 1,000 places of a file are told.',
  codes: CODES,
};
