// The REST interface as one Express application: what every request passes, in order. It listens nowhere; see api.ts.
import compression from 'compression';
import express, { type Express, type Request } from 'express';
import type { Logger } from '../log.ts';
import { ServiceError } from '../model/service-error.ts';
import { didYouMean } from '../model/suggest.ts';
import type { Operator } from '../service/operator.ts';
import type { Writer } from '../service/writer.ts';
import { type AuthenticateOptions, authenticate } from './authenticate.ts';
import { checkRequest } from './check-request.ts';
import { answerErrors } from './errors.ts';
import { assignRequestId } from './request-id.ts';
import { clientRoutes } from './routes/clients.ts';
import { hieraRoutes } from './routes/hiera.ts';
import { operationRoutes } from './routes/operations.ts';
import { stackInstanceRoutes } from './routes/stacks-instances.ts';
import { stackTemplateRoutes } from './routes/stacks-templates.ts';
import { treeRoutes } from './routes/tree.ts';
import { typeRoutes } from './routes/types.ts';

export interface AppOptions extends AuthenticateOptions {
  readonly operator: Operator;
  readonly writer: Writer;
  readonly log: Logger;
}

/** Below this the headers weigh as much as what compression saves. */
const COMPRESSED_BYTES_MIN = 4 * 1024;
const SECTIONS = ['/stacks', '/clients', '/types', '/hiera', '/tree', '/operations'];

/** Returns the application. Its requests must come over TLS with a client certificate; others are answered 401. */
export function createApp(options: AppOptions): Express {
  const { reader, operator, writer, log } = options;
  const app = express();
  app.disable('x-powered-by');
  // Answers carry an ETag of their own, and Express's makes a read several times as slow.
  app.disable('etag');
  app.set('query parser', 'simple');
  app.use(assignRequestId, checkRequest, authenticate(options), compression({ threshold: COMPRESSED_BYTES_MIN }));
  app.use(stackInstanceRoutes(reader, writer), stackTemplateRoutes(reader, writer), clientRoutes(reader, writer));
  app.use(typeRoutes(reader, writer), hieraRoutes(reader), treeRoutes(reader, writer));
  app.use(operationRoutes(reader, operator));
  app.use(refuseUnknownPath, answerErrors(log));
  return app;
}

function refuseUnknownPath({ method, path }: Request): never {
  const advice = didYouMean(`/${path.split('/')[1]}`, SECTIONS) ?? `everything is below ${SECTIONS.join(', ')}`;
  throw new ServiceError('not_found', `There is nothing at ${method} ${path}; ${advice}`);
}
