#!/usr/bin/env node
// An exec provider that makes each server by applying a Terraform module, with a state of its own. It answers the one
// call on standard input.
import { answerCall } from '../exec-call/answer-call.mjs';
import { handlers } from './answer.mjs';

// The signal goes to Terraform, too, which ends what it has begun and saves its state: this program waits for that.
process.on('SIGTERM', () => undefined);
await answerCall(handlers());
