import type { ApiRequest } from '../client/api-request.ts'
import type { ApiTransport } from '../client/api-transport.ts'
import { LineDecoder } from './line-decoder.ts'
import { type ObjectEvent, parseWatchEvent } from './watch-event.ts'

/** The first event of an object that a watch shows; undefined if the server ends the watch before. Closes the watch. */
export async function firstEvent(
  transport: Pick<ApiTransport, 'open'>,
  request: ApiRequest,
): Promise<ObjectEvent | undefined> {
  const stream = await transport.open(request)
  const found = Promise.withResolvers<ObjectEvent | undefined>()
  const decoder = new LineDecoder()
  stream
    .read((chunk) => {
      for (const line of decoder.push(chunk)) {
        const event = parseWatchEvent(line, request.target)
        if (event.kind !== 'progress') found.resolve(event)
      }
    })
    .then(() => found.resolve(undefined), found.reject)
  try {
    return await found.promise
  } finally {
    stream.close()
  }
}
