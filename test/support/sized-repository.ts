// A large stacks repository, made up: for tests that count work, and for benchmarks that time it.

export interface RepositorySize {
  readonly instances: number;
  /** Of each instance. */
  readonly servers: number;
  /** Instances share templates, roles and environments evenly; default 10 of each. */
  readonly kinds?: number;
}

/** Returns the files of a desired state. Instances are called `instance-0`, …, their servers `instance-0-web-1`, …. */
export function repositoryFiles({ instances, servers, kinds = 10 }: RepositorySize): Readonly<Record<string, string>> {
  const files: Record<string, string> = {
    'tree.yaml': treeOf(kinds),
    'types/common/global.yaml': 'ntp_servers: [ntp1.example, ntp2.example]\nlog_level: info\nbackups: true\n',
    'types/shape/small.yaml': 'cpus: 2\nmemory_gb: 4\n',
    'clients/A1.yaml': 'role: administrator\n',
  };
  for (let kind = 0; kind < kinds; kind++) {
    files[`types/environment/environment-${kind}.yaml`] = `log_level: warning\nretention_days: ${kind}\n`;
    files[rolePath(kind)] = roleText(8000 + kind);
    files[`stacks/templates/template-${kind}.yaml`] = templateOf(kind);
  }
  for (let instance = 0; instance < instances; instance++) {
    files[instancePath(instance)] = instanceText({ kind: instance % kinds, servers });
  }
  return files;
}

export function instancePath(instance: number): string {
  return `stacks/instances/instance-${instance}.yaml`;
}

/** `version` reaches the servers by an update. */
export function instanceText({ kind, servers, version = '1' }: InstanceParts): string {
  return `stackTemplate: template-${kind}\nparameters: { count: "${servers}", version: "${version}" }\n`;
}

interface InstanceParts {
  readonly kind: number;
  readonly servers: number;
  readonly version?: string;
}

/** The role of every `kinds`th instance. */
export function rolePath(kind: number): string {
  return `types/role/role-${kind}.yaml`;
}

export function roleText(port: number): string {
  return `packages: [nginx]\nport: ${port}\n`;
}

function treeOf(kinds: number): string {
  const children = Array.from({ length: kinds }, (_, kind) => `  - { name: environment-${kind}, type: environment }\n`);
  return `name: global\ntype: common\nchildren:\n${children.join('')}`;
}

function templateOf(kind: number): string {
  return `description: Web servers
parameters: { count: "1", version: "" }
resources:
  web:
    type: Platform::ResourceGroup
    properties:
      count: "<<count>>"
      resource_def:
        properties:
          environment: environment-${kind}
          shape: small
          role: role-${kind}
          version: "<<version>>"
          peers: "<<(Array)['web']['name']>>"
          configuration_only: [peers]
`;
}
