import { type IncomingMessage, request } from 'node:http'
import type { Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import { onAbort } from '@tenure/core/internal'
import { type FoundKubeConfig, withDeadline } from '@tenure/kubernetes/internal'
import type { OpsAnswer } from '../dev/ask-ops-port.ts'
import type { Terminal } from '../terminal.ts'
import { withPortForward } from './port-forward.ts'

/** How long a port-forward and the answer may take together. */
const ANSWER_MS = 10_000

/** Where a port is. */
export interface PodPortPlace {
  readonly kubeConfig: FoundKubeConfig
  readonly namespace: string
  readonly pod: string
  readonly port: number
}

/** Asks a port of a Pod over HTTP, with a port-forward for each request. Owns the requests under way. */
export class PodPort implements AsyncDisposable {
  readonly #place: PodPortPlace
  readonly #terminal: Terminal
  readonly #end = new AbortController()
  readonly #forget: () => void
  readonly #asked = new Set<Promise<OpsAnswer>>()

  constructor(place: PodPortPlace, terminal: Terminal) {
    const { interrupted } = terminal
    this.#place = place
    this.#terminal = terminal
    this.#forget = onAbort(interrupted, () => this.#end.abort(interrupted.reason))
  }

  /** Gets a path, whatever the status of the answer. @throws as `withPortForward()`, and if there is no answer within 10 s */
  get(path: string): Promise<OpsAnswer> {
    const { clock } = this.#terminal
    const { kubeConfig: found, ...place } = this.#place
    const asked = withDeadline({ clock, timeoutMs: ANSWER_MS, signal: this.#end.signal }, async (signal) => {
      const kubeConfig = await found.completeLater()
      return withPortForward({ ...place, kubeConfig, signal }, (connection) => getOver(connection, path))
    })
    this.#asked.add(asked)
    return asked
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#forget()
    this.#end.abort(new Error('the other requests are over'))
    await Promise.allSettled(this.#asked)
  }
}

async function getOver(connection: Duplex, path: string): Promise<OpsAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  request({ createConnection: () => connection, headers: { host: 'localhost' }, path }, resolve)
    .on('error', reject)
    .end()
  try {
    const response = await promise
    return { status: response.statusCode ?? 0, text: await text(response) }
  } catch (cause) {
    if (!isReset(cause)) throw cause
    throw new Error('the port-forward ended before the answer was complete', { cause })
  }
}

function isReset(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ECONNRESET'
}
