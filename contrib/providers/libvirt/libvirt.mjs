#!/usr/bin/env node
// An exec provider whose servers are virtual machines of libvirt. It answers the one call on standard input.
import { answerCall } from '../exec-call/answer-call.mjs';
import { handlers } from './answer.mjs';

await answerCall(handlers());
