#!/usr/bin/env node
// An exec provider that makes each server by applying a Terraform module, with a state of its own. It answers the one
// call on standard input.
import { answerCall } from '../exec-call/answer-call.mjs';
import { handlers } from './answer.mjs';

// Terraform gets the signal too, finishes the running step and saves its state. This program waits for it.
process.on('SIGTERM', () => undefined);
await answerCall(handlers());
