#!/usr/bin/env node
// A well-behaved program for the provider "exec": keeps every server as a file of the directory SERVERS.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const { version, operation, resource, properties } = JSON.parse(readFileSync(0, 'utf8'));
if (version !== 1) throw new Error(`version ${version} is not known`);
if (!['check', 'create', 'update', 'delete'].includes(operation)) throw new Error(`there is no operation ${operation}`);
if (typeof resource !== 'string' || resource === '') throw new Error('the call names no resource');

const file = join(process.env.SERVERS ?? '', `${encodeURIComponent(resource)}.json`);
const before = read();
if (operation === 'delete') rmSync(file, { force: true });
if (operation === 'create' && before === undefined) writeFileSync(file, JSON.stringify(properties));
if (operation === 'update' && before !== undefined) writeFileSync(file, JSON.stringify(properties));
const observed = read();
const outcome = observed === undefined ? (operation === 'update' ? 'failed' : 'absent') : 'done';
process.stdout.write(JSON.stringify({ outcome, observed }));

function read() {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
