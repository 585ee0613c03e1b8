import type { RequestContext, ResponseContext } from '@kubernetes/client-node'
import type { WriteGate } from '@tenure/core/internal'
import { isJson, textOfResponse } from './response-text.ts'

/** The message of an API server that carries out one of the policies of `termCheck()` or `holderCheck()`. */
const DENIED = /ValidatingAdmissionPolicy '[^']+\.tenure\.dev' with binding '[^']+' denied request/

/** Publishes that a fence refused a write, if its response says so. Returns the response, which can still be read. */
export async function noteFenceRefusal(
  gate: WriteGate,
  request: Pick<RequestContext, 'getHttpMethod'>,
  response: ResponseContext,
): Promise<ResponseContext> {
  const { httpStatusCode: status } = response
  if (status < 400 || status >= 500 || !isJson(response)) return response
  if (DENIED.test(await textOfResponse(response))) gate.noteFenceRefusal(request.getHttpMethod())
  return response
}
