// Defines an entry of the table of problem codes, and the repository that its examples stand in.

/** The content of a file in an example: a text; a text that is too long to print; a link; or null for no file. */
export type ExampleFile =
  | string
  | null
  | { readonly shown: string; readonly text: () => string }
  | { readonly linkTo: string };

/** Files by path, laid over {@link EXAMPLE_REPOSITORY}. */
export type ExampleFiles = Readonly<Record<string, ExampleFile>>;

/** An example that a test runs: `wrong` gives the code, `right` does not. */
export interface RunExample {
  /** Files of the commit before, where the code compares two commits. */
  readonly before?: ExampleFiles;
  /** Files that stand beside both. */
  readonly beside?: ExampleFiles;
  readonly wrong: ExampleFiles;
  readonly right: ExampleFiles;
}

/** An example in words, where files alone do not bring the code about. */
export interface ToldExample {
  readonly wrong: string;
  readonly right: string;
}

/** The description of a problem code. */
export interface CodeEntry {
  /** `either`: the severity depends on the case, and `meaning` says on which. */
  readonly severity: 'error' | 'warning' | 'either';
  /** The code always holds the whole commit. */
  readonly isWholeCommit?: true;
  /** One sentence without its full stop, in Markdown. */
  readonly meaning: string;
  /** The correction: one sentence without its full stop, in Markdown. */
  readonly remedy: string;
  readonly example: RunExample | ToldExample;
}

/** Codes with a common heading in docs/problems.md. */
export interface CodeGroup<Codes extends Readonly<Record<string, CodeEntry>>> {
  readonly heading: string;
  /** A paragraph below the heading. */
  readonly intro?: string;
  readonly codes: Codes;
}

/** Returns true if a test can run the example. */
export function isRunExample(example: RunExample | ToldExample): example is RunExample {
  return typeof example.wrong !== 'string';
}

/** A small repository without a problem. Every example changes files of it. */
export const EXAMPLE_REPOSITORY: Readonly<Record<string, string>> = {
  'tree.yaml': `name: global
type: common
children:
  - name: production
    type: environment
    children:
      - { name: dmz, type: zone }
  - { name: staging, type: environment }
`,
  'hierarchy.yaml': `order:
  - common
  - environment
  - zone
  - { type: configuration, name: "<<environment>>-<<zone>>" }
  - shape
  - role
merge: { packages: unique }
secrets: { keys: ["_password$"], reference: "^secret/" }
`,
  'clients/A1.yaml': 'role: administrator\n',
  'stacks/templates/web.yaml': `parameters: { zone: dmz, count: "2", port: "" }
resources:
  web:
    type: Platform::ResourceGroup
    properties:
      count: "<<count>>"
      resource_def:
        properties: { environment: production, zone: "<<zone>>", role: web, port: "<<port>>" }
`,
  'stacks/instances/shop.yaml': 'stackTemplate: web\nparameters: { port: "80" }\n',
  'stacks/templates/database.yaml': `resources:
  server:
    type: Platform::Server
    properties: { environment: production, role: database }
`,
  'stacks/instances/orders.yaml': 'stackTemplate: database\n',
  'types/role/web.yaml': 'packages: [nginx]\n',
  'types/role/database.yaml': 'packages: [postgresql]\n',
};
