// Codes of problems with the operator's settings, treeline.yaml.
import type { CodeEntry, CodeGroup } from './code-entry.ts';

const CODES = {
  duplicate_file: {
    severity: 'error',
    meaning: 'two settings name one file, and each of them writes it',
    remedy: 'name another file',
    example: {
      wrong: 'two entries under `execution.providers` with `options: { file: servers.json }`',
      right: '`options: { file: servers.json }` in one, `options: { file: lab.json }` in the other',
    },
  },
  exposed_directory: {
    severity: 'error',
    meaning: 'other users can enter the directory of the store',
    remedy: 'see who could read it, then take the rights away: `chmod 0700`',
    example: { wrong: 'the mode 0755 of the directory', right: 'the mode 0700' },
  },
  exposed_secret: {
    severity: 'warning',
    meaning:
      'other users can read a file that holds a secret, or programs of the same user a variable of the environment',
    remedy: 'take the rights away: `chmod o-rwx`; write what is in the environment into a file',
    example: { wrong: 'the mode 0644 of a private key', right: 'the mode 0640' },
  },
  no_directory: {
    severity: 'error',
    meaning: 'a directory is needed, and a file stands there',
    remedy: 'name a directory',
    example: { wrong: '`store: { directory: treeline.yaml }`', right: '`store: { directory: store }`' },
  },
  no_effect: {
    severity: 'error',
    meaning: 'a setting has no effect on the repository of this `url`, or on a provider of this kind',
    remedy: 'remove it, or correct the `url` or the kind',
    example: {
      wrong: '`caFile` beside `url: git@git.example.org:stacks.git`',
      right: '`caFile` beside `url: https://git.example.org/stacks.git`',
    },
  },
  no_file: {
    severity: 'error',
    meaning: 'a file that the settings name is not there, or is none',
    remedy: 'make it, or correct the path, which begins at the folder of the settings',
    example: { wrong: '`tls: { key: sever.key }`', right: '`tls: { key: server.key }`' },
  },
  no_program: {
    severity: 'error',
    meaning: 'a program that the settings name is not there, or may not be executed',
    remedy: 'correct the path, install the program, or make it executable',
    example: { wrong: '`command: [make-server]`, which is not in the PATH', right: '`command: [./make-server]`' },
  },
  no_repository: {
    severity: 'warning',
    meaning: 'the path under `repository.url` is no Git repository yet',
    remedy: 'make it, or correct the path',
    example: { wrong: '`url: stack.git`', right: '`url: stacks.git`' },
  },
  not_in_this_version: {
    severity: 'error',
    meaning: 'a setting, or a variable of the environment, asks for what this version does not do',
    remedy: 'leave it out',
    example: { wrong: '`store: { kind: postgres }`', right: '`store: { kind: lowdb }`' },
  },
  unreadable_file: {
    severity: 'either',
    meaning:
      'the user who runs the controller cannot read a file that the settings name (error), or the one who checks them cannot (warning)',
    remedy:
      'give the user who runs the controller the right to read it; check the settings as that user, or as root with `--user`',
    example: { wrong: 'the mode 0600 of a key of another user', right: 'the mode 0640, and the group of the user' },
  },
  unwritable_directory: {
    severity: 'either',
    meaning:
      'the user who runs the controller can neither write to the directory of the store nor make it (error), or the one who checks the settings cannot (warning)',
    remedy:
      'give the directory to the user who runs the controller; check the settings as that user, or as root with `--user`',
    example: { wrong: 'a directory that root owns', right: 'a directory that the user `treeline` owns' },
  },
  wrong_file: {
    severity: 'either',
    meaning:
      'a file that the settings name holds something else than it should (error), or will not do for long (warning)',
    remedy: 'the message says what is wrong with it',
    example: { wrong: 'a certificate that has expired', right: 'a certificate that is valid' },
  },
} as const satisfies Record<string, CodeEntry>;

/** The codes of the operator's settings. */
export const SETTINGS_CODES: CodeGroup<typeof CODES> = {
  heading: 'Settings of the operator',
  intro:
    'These are about `treeline.yaml` and the settings of a proxy; `treeline settings check` and `treeline proxy check` report them. `yaml_…` codes, `unknown_field`, `missing_field`, `wrong_type`, `wrong_value` and `duplicate_name` stand there too.',
  codes: CODES,
};
