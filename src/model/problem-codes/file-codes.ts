// Codes of problems with the names and places of files.
import type { CodeEntry, CodeGroup } from './code-entry.ts';

const FILE_BYTES = 1024 * 1024;

const CODES = {
  bad_name: {
    severity: 'error',
    meaning: 'a name holds characters that names cannot have, is too long, or is reserved (a clientcert called `all`)',
    remedy: 'rename the file; a name holds letters, digits, `.`, `_` and `-`, and begins with a letter or digit',
    example: {
      wrong: { 'types/clientcert/lab printer.yaml': 'ip: 192.0.2.7\n' },
      right: { 'types/clientcert/lab-printer.yaml': 'ip: 192.0.2.7\n' },
    },
  },
  client_file_name: {
    severity: 'error',
    meaning:
      'a file below `clients/` is not named after a serial number in its one spelling: upper-case hexadecimal, no separators, no leading zero bytes',
    remedy: 'rename it as the hint says',
    example: {
      wrong: { 'clients/a1:1d.yaml': 'role: proxy\n' },
      right: { 'clients/A11D.yaml': 'role: proxy\n' },
    },
  },
  duplicate_name: {
    severity: 'error',
    meaning:
      'two files hold an object of the same type and name, in different folders; in the settings, two providers have one name',
    remedy: 'remove or rename all but one',
    example: {
      wrong: { 'types/clientcert/lab.yaml': 'ip: 192.0.2.7\n', 'types/clientcert/old/lab.yaml': 'ip: 192.0.2.8\n' },
      right: { 'types/clientcert/lab.yaml': 'ip: 192.0.2.7\n', 'types/clientcert/old/lab-2.yaml': 'ip: 192.0.2.8\n' },
    },
  },
  file_empty: {
    severity: 'error',
    meaning: 'the file holds no object',
    remedy: 'write one, `{}` at least, or remove the file',
    example: {
      wrong: { 'types/role/web.yaml': '# packages: [nginx]\n' },
      right: { 'types/role/web.yaml': '{}\n' },
    },
  },
  file_too_large: {
    severity: 'error',
    meaning: 'the file is larger than 1 MiB',
    remedy: 'split it, or keep what is no configuration elsewhere',
    example: {
      wrong: {
        'types/role/web.yaml': {
          shown: 'logo: iVBORw0KGgoAAAANSUhEUgAA…    # 1 MiB\n',
          text: () => `logo: ${'x'.repeat(FILE_BYTES)}\n`,
        },
      },
      right: { 'types/role/web.yaml': 'logo: https://files.example.org/logo.png\n' },
    },
  },
  misplaced_file: {
    severity: 'either',
    meaning:
      'a YAML file stands directly below `types/` or `stacks/`, in another folder of `stacks/`, or in a folder whose name is close to one of the layout, such as `stack/` (warning); or where no object can stand (error)',
    remedy: 'move it into the folder of its type',
    example: {
      wrong: { 'stacks/blog.yaml': 'stackTemplate: database\n' },
      right: { 'stacks/instances/blog.yaml': 'stackTemplate: database\n' },
    },
  },
  more_problems: {
    severity: 'either',
    meaning: 'one file has more than 100 problems; errors are shown first',
    remedy: 'correct them and look again',
    example: {
      wrong: {
        'types/role/web.yaml': {
          shown: 'k0: {}\nk1: {}\n…\nk101: {}\n',
          text: () => Array.from({ length: 102 }, (_, index) => `k${index}: {}\n`).join(''),
        },
      },
      right: { 'types/role/web.yaml': 'k0: ""\nk1: ""\n' },
    },
  },
  name_mismatch: {
    severity: 'error',
    meaning: "`name`, or the `serial` of a client, does not agree with the file's name",
    remedy: 'correct the field, leave it out, or rename the file of a client to its serial number',
    example: {
      wrong: { 'types/role/web.yaml': 'name: webserver\npackages: [nginx]\n' },
      right: { 'types/role/web.yaml': 'name: web\npackages: [nginx]\n' },
    },
  },
  not_a_file: {
    severity: 'error',
    meaning:
      'a symbolic link or a submodule stands inside the layout; active objects that it stands for stay as they were',
    remedy: 'commit the files themselves',
    example: {
      wrong: { 'types/clientcert/lab-2.yaml': { linkTo: 'lab.yaml' } },
      right: { 'types/clientcert/lab-2.yaml': 'ip: 192.0.2.8\n' },
    },
  },
  not_utf8: {
    severity: 'error',
    meaning: 'the file is not UTF-8',
    remedy: 'save it as UTF-8',
    example: {
      wrong: 'a file that an editor has saved as ISO 8859-1 or UTF-16',
      right: 'the same text, saved as UTF-8',
    },
  },
  too_many_bytes: {
    severity: 'error',
    isWholeCommit: true,
    meaning: 'the files of the layout have more than 64 MiB together',
    remedy: 'split the repository, or take large values out of it',
    example: {
      wrong: 'a repository with 100 files of 700 KiB in the layout',
      right: 'two repositories with 50 such files each',
    },
  },
  too_many_files: {
    severity: 'error',
    isWholeCommit: true,
    meaning: 'the layout holds more than 20,000 files',
    remedy: 'split the repository',
    example: {
      wrong: 'a repository with 20,001 files in the layout',
      right: 'two repositories with 10,000 files each',
    },
  },
  tree_missing: {
    severity: 'error',
    isWholeCommit: true,
    meaning: 'there is no `tree.yaml`',
    remedy: 'add one, or set `repository.directory` to the folder that holds it',
    example: {
      wrong: { 'tree.yaml': null },
      right: {
        'tree.yaml':
          'name: global\ntype: common\nchildren: [{ name: production, type: environment, children: [{ name: dmz, type: zone }] }]\n',
      },
    },
  },
  unreadable_commit: {
    severity: 'error',
    isWholeCommit: true,
    meaning: 'the commit holds more than can be read at all, as its message says',
    remedy:
      'push a commit that takes it back, or [follow](operations.md#settings) a directory that holds the stacks alone',
    example: {
      wrong: 'a commit that adds 100,000 files of another program below `repository.directory`',
      right: 'the same files beside that directory',
    },
  },
  unreadable_object: {
    severity: 'error',
    meaning:
      'an object stood here, and a folder or a file that is not read has taken its place: it is not removed, but stays as it was',
    remedy: 'bring the file back; to remove the object, remove what stands there too',
    example: {
      before: { 'types/clientcert/lab.yaml': 'ip: 192.0.2.7\n' },
      wrong: { 'types/clientcert/lab.yaml': null, 'types/clientcert/lab.yaml/notes.txt': 'see the wiki\n' },
      right: { 'types/clientcert/lab.yaml': 'ip: 192.0.2.7\n' },
    },
  },
  unknown_type_folder: {
    severity: 'error',
    meaning: "a folder below `types/` bears no type's name, or the name of a type whose objects stand elsewhere",
    remedy: 'rename or move it',
    example: {
      wrong: { 'types/clientcerts/lab.yaml': 'ip: 192.0.2.7\n' },
      right: { 'types/clientcert/lab.yaml': 'ip: 192.0.2.7\n' },
    },
  },
  wrong_extension: {
    severity: 'either',
    meaning:
      'a file inside the layout ends in `.yml` or another spelling of `.yaml` (warning; an error where it stands for an object that was active, which stays as it was)',
    remedy: 'rename it; only `.yaml` is read',
    example: {
      wrong: { 'types/clientcert/lab.yml': 'ip: 192.0.2.7\n' },
      right: { 'types/clientcert/lab.yaml': 'ip: 192.0.2.7\n' },
    },
  },
} as const satisfies Record<string, CodeEntry>;

/** The codes of names and places. */
export const FILE_CODES: CodeGroup<typeof CODES> = { heading: 'Files and names', codes: CODES };
