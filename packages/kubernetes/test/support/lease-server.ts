import type { IncomingMessage, ServerResponse } from 'node:http'
import { answer, LoopbackServer } from './loopback-server.ts'

/** What the server does with one request for the lease. */
export type Reply = (response: ServerResponse, message: IncomingMessage) => void

/**
 * A scripted API server with one lease, `ops/janitor`. Lists answer with what is stored; watches are held open and written to by
 * the test. Either can be replaced.
 */
export class LeaseServer implements AsyncDisposable {
  version = 10
  /** The stored lease, if there is one. */
  lease: object | undefined
  onList: Reply = (response) => this.answerList(response)
  onWatch: Reply = (response) => response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders()
  /** The watches that were ever opened, oldest first. */
  readonly watches: { readonly query: URLSearchParams; readonly response: ServerResponse }[] = []
  lists = 0
  #http: LoopbackServer | undefined

  static async start(): Promise<LeaseServer> {
    const server = new LeaseServer()
    server.#http = await LoopbackServer.start((message, response) => server.#serve(message, response))
    return server
  }

  get http(): LoopbackServer {
    if (this.#http === undefined) throw new Error('Expected the server to be started')
    return this.#http
  }

  /** Changes the stored lease and returns the event that tells of it. */
  put(holderIdentity: string): { readonly type: string; readonly object: object } {
    const type = this.lease === undefined ? 'ADDED' : 'MODIFIED'
    this.version++
    this.lease = leaseObject(this.version, holderIdentity)
    return { type, object: this.lease }
  }

  /** Deletes the stored lease and returns the event that tells of it. */
  delete(): { readonly type: string; readonly object: object } {
    this.version++
    this.lease = undefined
    return { type: 'DELETED', object: leaseObject(this.version, 'gone') }
  }

  /** Writes events to the watch that was opened last. */
  send(...events: readonly unknown[]): void {
    const watch = this.watches.at(-1)
    if (watch === undefined) throw new Error('Expected a watch to be open')
    watch.response.write(events.map((event) => `${JSON.stringify(event)}\n`).join(''))
  }

  answerList(response: ServerResponse): void {
    const items = this.lease === undefined ? [] : [this.lease]
    answer(response, 200, { kind: 'LeaseList', metadata: { resourceVersion: String(this.version) }, items })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.http[Symbol.asyncDispose]()
  }

  #serve(message: IncomingMessage, response: ServerResponse): void {
    const { searchParams } = new URL(message.url ?? '', 'http://loopback')
    if (searchParams.get('watch') === 'true') {
      this.watches.push({ query: searchParams, response })
      this.onWatch(response, message)
      return
    }
    this.lists++
    this.onList(response, message)
  }
}

/** A Lease as the API server has it. */
export function leaseObject(version: number, holderIdentity: string, name = 'janitor'): object {
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name, namespace: 'ops', resourceVersion: String(version) },
    spec: { holderIdentity, leaseDurationSeconds: 15 },
  }
}
