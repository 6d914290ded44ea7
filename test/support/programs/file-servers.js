#!/usr/bin/env node
// A well-behaved program for the provider "exec": keeps every server as a file of the directory SERVERS, and reports the outputs
// that a file of its name in the directory LEASES has, if there is one.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const { version, operation, resource, properties } = JSON.parse(readFileSync(0, 'utf8'));
if (version !== 1) throw new Error(`version ${version} is not known`);
if (!['check', 'create', 'update', 'delete'].includes(operation)) throw new Error(`there is no operation ${operation}`);
if (typeof resource !== 'string' || resource === '') throw new Error('the call names no resource');

const file = join(process.env.SERVERS ?? '', `${encodeURIComponent(resource)}.json`);
const before = read(file);
if (operation === 'delete') rmSync(file, { force: true });
if (operation === 'create' && before === undefined) writeFileSync(file, JSON.stringify(properties));
if (operation === 'update' && before !== undefined) writeFileSync(file, JSON.stringify(properties));
const observed = read(file);
const outputs = read(join(process.env.LEASES ?? '', `${encodeURIComponent(resource)}.outputs`));
const outcome = observed === undefined ? (operation === 'update' ? 'failed' : 'absent') : 'done';
process.stdout.write(JSON.stringify({ outcome, observed, outputs }));

/** @param {string} path */
function read(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
