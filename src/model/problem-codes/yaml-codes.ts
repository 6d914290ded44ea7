// Codes of problems with the YAML of a file.
import type { CodeEntry, CodeGroup, ExampleFile } from './code-entry.ts';

const ROLE = 'types/role/web.yaml';
const NESTED = 65;
const VALUES = 60_000;

function example(wrong: ExampleFile, right: ExampleFile) {
  return { wrong: { [ROLE]: wrong }, right: { [ROLE]: right } };
}

const CODES = {
  boolean_spelling: {
    severity: 'warning',
    meaning: '`yes` or `no` without quotes, which YAML 1.2 reads as a text and older readers as true or false',
    remedy: 'write `true` or `false`, or put it in quotes if the text is meant',
    example: example('debug: yes\n', 'debug: true\n'),
  },
  duplicate_key: {
    severity: 'error',
    meaning: 'a key stands in a map twice',
    remedy: 'remove one of the two',
    example: example('packages: [nginx]\npackages: [curl]\n', 'packages: [nginx, curl]\n'),
  },
  number_spelling: {
    severity: 'warning',
    meaning: 'a number is read otherwise than it is written, such as `1.10` as 1.1',
    remedy: 'put it in quotes if it is meant as it is written',
    example: example('version: 1.10\n', 'version: "1.10"\n'),
  },
  unsafe_number: {
    severity: 'error',
    meaning: 'a number is too large to be kept exactly, or is none that JSON can hold',
    remedy: 'put it in quotes',
    example: example('account: 12345678901234567890\n', 'account: "12345678901234567890"\n'),
  },
  yaml_anchor: {
    severity: 'error',
    meaning: 'an anchor or an alias',
    remedy: 'write the value out; share configuration by layers',
    example: example('packages: &all [nginx]\n', 'packages: [nginx]\n'),
  },
  yaml_character: {
    severity: 'error',
    meaning: 'an escape stands for no character: NUL, half of a surrogate pair',
    remedy: 'remove it',
    example: example('separator: "\\0"\n', 'separator: "\\t"\n'),
  },
  yaml_depth: {
    severity: 'error',
    meaning: 'the file is nested deeper than 64 levels',
    remedy: 'flatten it',
    example: example(
      { shown: 'a: [[[[[[…]]]]]]    # 65 levels\n', text: () => `a: ${'['.repeat(NESTED)}${']'.repeat(NESTED)}\n` },
      'a: []\n',
    ),
  },
  yaml_documents: {
    severity: 'error',
    meaning: 'the file holds a second document',
    remedy: 'put it into a file of its own',
    example: example('packages: [nginx]\n---\nport: "80"\n', 'packages: [nginx]\nport: "80"\n'),
  },
  yaml_key: {
    severity: 'error',
    meaning: 'a key is empty, reserved (`__proto__`), or a map or list',
    remedy: 'use a plain text; a text that begins with `{` or `[` needs quotes',
    example: example('[http, https]: open\n', 'http_and_https: open\n'),
  },
  yaml_merge_key: {
    severity: 'error',
    meaning: 'the merge key `<<`',
    remedy: 'write the fields out; share configuration by layers',
    example: example('<<: { port: "80" }\n', 'port: "80"\n'),
  },
  yaml_syntax: {
    severity: 'error',
    meaning: 'the text is no YAML',
    remedy: 'the message says what is in the way; most often quotes or spaces are missing',
    example: example('banner: Note: closed on Sundays\n', 'banner: "Note: closed on Sundays"\n'),
  },
  yaml_tag: {
    severity: 'error',
    meaning: 'a tag such as `!!str` or `!vault`',
    remedy: 'leave it out, or put the whole text in quotes',
    example: example('motd: !vault hello\n', 'motd: "!vault hello"\n'),
  },
  yaml_values: {
    severity: 'error',
    meaning: 'the file holds more than 50,000 keys and values, where the end of a list or map counts too',
    remedy: 'split it',
    example: example(
      {
        shown: 'blocked: [192.0.2.1, 192.0.2.2, …]    # 60,000 items\n',
        text: () => `blocked: [${Array.from({ length: VALUES }, () => 'b').join(', ')}]\n`,
      },
      'blocked_file: https://files.example.org/blocked.txt\n',
    ),
  },
} as const satisfies Record<string, CodeEntry>;

/** The codes of YAML. */
export const YAML_CODES: CodeGroup<typeof CODES> = { heading: 'YAML', codes: CODES };
