import type { ResponseContext } from '@kubernetes/client-node'
import { clientNode } from '#client-node'

/** Reads the body of a response as text. The response can still be read. */
export async function textOfResponse(response: ResponseContext): Promise<string> {
  const text = await response.body.text()
  response.body = new (clientNode().SelfDecodingBody)(Promise.resolve(Buffer.from(text)))
  return text
}

export function isJson({ headers }: ResponseContext): boolean {
  return headers['content-type']?.includes('json') === true
}
