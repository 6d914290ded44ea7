#!/usr/bin/env node
// A program for the provider "exec" that keeps servers as files of the directory SERVERS, and writes to its file "calls"
// when a change begins and ends, of which release. A change takes as long as the file "ms" says.
import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

const { SERVERS: directory = '.', SITE } = process.env;
const { operation, resource, properties } = JSON.parse(readFileSync(0, 'utf8'));
const file = join(directory, `${resource}.json`);
if (operation !== 'check') {
  note('begin');
  await wait(Number(readFileSync(join(directory, 'ms'), 'utf8')));
  if (operation === 'delete') rmSync(file, { force: true });
  else writeFileSync(file, JSON.stringify(properties));
  note('end');
}
const observed = read();
process.stdout.write(JSON.stringify({ outcome: observed === undefined ? 'absent' : 'done', observed }));

/** @param {string} moment */
function note(moment) {
  appendFileSync(
    join(directory, 'calls'),
    `${moment} ${operation} ${resource} ${SITE} ${process.pid} ${properties.release}\n`,
  );
}

function read() {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
