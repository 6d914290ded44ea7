// contrib/providers/terraform with the real program, and modules of the resource that is built into it.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { type ProviderProgram, providerProgram } from './provider-program.ts';

const PROGRAM = 'terraform/terraform.mjs';
/** Undefined where it is not installed: it cannot be had from a package registry. */
export const TERRAFORM = ['/usr/local/bin', '/usr/bin', ...(process.env.PATH ?? '').split(':')]
  .map((folder) => join(folder, 'terraform'))
  .find((path) => existsSync(path));

/** A server is a file: what `motd` is told comes out of the file, and another `disk` needs another server. */
export const MODULE = `
variable "name" { type = string }
variable "properties" { type = any }
variable "folder" { type = string }
locals { file = "\${var.folder}/\${var.name}" }
resource "terraform_data" "disk" {
  input = var.properties.disk
  triggers_replace = [var.properties.disk]
}
resource "terraform_data" "server" {
  depends_on = [terraform_data.disk]
  input = { file = local.file, motd = var.properties.motd }
  triggers_replace = [terraform_data.disk.id]
  provisioner "local-exec" { command = "echo begin >> '\${local.file}.log'; sleep \${try(var.properties.sleep, "0")}" }
  provisioner "local-exec" {
    when    = destroy
    command = "rm -f '\${self.output.file}'; echo destroyed >> '\${self.output.file}.log'"
  }
}
resource "terraform_data" "motd" {
  depends_on = [terraform_data.server]
  triggers_replace = []
  input = var.properties.motd
}
output "id" { value = terraform_data.server.id }
output "ports" { value = ["80", "443"] }
output "password" {
  value     = "swordfish"
  sensitive = true
}
output "observed" {
  value = { motd = fileexists(local.file) ? file(local.file) : terraform_data.motd.output }
}
`;

/** While its one resource is replaced, the state holds nothing. */
export const REPLACED_WHOLE = `
variable "name" { type = string }
variable "properties" { type = any }
variable "folder" { type = string }
resource "terraform_data" "server" {
  triggers_replace = [var.properties.disk]
  provisioner "local-exec" {
    command = "echo begin >> '\${var.folder}/\${var.name}.log'; sleep \${try(var.properties.sleep, "0")}"
  }
}
`;

interface Rig extends ProviderProgram {
  readonly folder: string;
  /** The folder of one server's state. */
  serverFolder(name: string): string;
  /** Returns the lines that the module's provisioners wrote. */
  logOf(name: string): readonly string[];
  writeModule(name: string, text: string): void;
}

export function createRig(environment: Readonly<Record<string, string>> = {}): Rig {
  const folder = temporaryDirectory();
  const state = join(folder, 'state');
  const writeModule = (name: string, text: string): void => {
    mkdirSync(join(folder, 'modules', name), { recursive: true });
    writeFileSync(join(folder, 'modules', name, 'main.tf'), text);
  };
  writeModule('small', MODULE);
  mkdirSync(join(folder, 'files'));
  const program = providerProgram(PROGRAM, {
    TREELINE_TERRAFORM_MODULES: join(folder, 'modules'),
    TREELINE_TERRAFORM_STATE: state,
    TREELINE_TERRAFORM_PROGRAM: TERRAFORM ?? '',
    TF_VAR_folder: join(folder, 'files'),
    ...environment,
  });
  const logOf = (name: string): readonly string[] => {
    const file = join(folder, 'files', `${name}.log`);
    return existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : [];
  };
  return { ...program, folder, serverFolder: (name) => join(state, 'servers', name), logOf, writeModule };
}

export const SMALL = { shape: 'small', disk: '10', motd: 'hello' };
