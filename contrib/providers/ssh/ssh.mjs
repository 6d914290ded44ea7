#!/usr/bin/env node
// An exec provider for machines that exist already: each operation runs one of the operator's scripts on the machine
// over ssh. It answers the one call on standard input.
import { answerCall } from '../exec-call/answer-call.mjs';
import { handlers } from './answer.mjs';

await answerCall(handlers());
