import { onAbort } from '@tenure/core/internal'
import type { ApiRequest, ApiTarget } from '../../src/client/api-request.ts'
import type { ApiStream } from '../../src/client/api-transport.ts'
import type { Connection } from '../../src/client/connection.ts'
import { statusError } from '../../src/client/status-error.ts'

/** An open stream, from the side of the server. */
export class ScriptedStream {
  readonly request: ApiRequest
  isClosed = false
  readonly #ended = Promise.withResolvers<void>()
  #take: (chunk: Buffer) => void = () => {}

  constructor(request: ApiRequest) {
    this.request = request
    this.#ended.promise.catch(() => {})
  }

  /** Sends events of a watch. */
  send(...events: readonly (readonly [type: string, object: object])[]): void {
    try {
      for (const [type, object] of events) this.#take(Buffer.from(`${JSON.stringify({ type, object })}\n`))
    } catch (error) {
      this.#ended.reject(error)
    }
  }

  end(): void {
    this.#ended.resolve()
  }

  fail(error: Error): void {
    this.#ended.reject(error)
  }

  get clientSide(): ApiStream {
    return {
      read: (take) => {
        this.#take = take
        onAbort(this.request.signal, () => this.#ended.reject(new Error('aborted')))
        return this.#ended.promise
      },
      close: () => void (this.isClosed = true),
    }
  }
}

/** A connection that records what is requested, and answers what the test says. */
export class ScriptedConnection implements Connection {
  readonly sent: ApiRequest[] = []
  readonly streams: ScriptedStream[] = []
  /** What a request is answered; it may throw. */
  onSend: (request: ApiRequest) => unknown = () => ({})
  /** Called before a stream opens; it may throw. */
  onOpen: (request: ApiRequest) => unknown = () => undefined

  async send(request: ApiRequest): Promise<unknown> {
    this.sent.push(request)
    return this.onSend(request)
  }

  async open(request: ApiRequest): Promise<ApiStream> {
    await this.onOpen(request)
    const stream = new ScriptedStream(request)
    this.streams.push(stream)
    return stream.clientSide
  }

  async close(): Promise<void> {}
}

/** No answer until the request is aborted. */
export function neverAnswered({ signal }: ApiRequest): Promise<never> {
  return new Promise((_, reject) => onAbort(signal, () => reject(signal.reason as Error)))
}

/** The refusal of a request. */
export function refusal(target: ApiTarget, statusCode: number, headers: Record<string, string> = {}): Error {
  return statusError(target, { statusCode, headers, body: {} })
}
