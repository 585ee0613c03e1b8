import type { ServerResponse } from 'node:http'
import { answer, LoopbackServer } from './loopback-server.ts'

type Named = readonly [name: string, version: number]

/** What a store has. */
interface StoreState {
  readonly version: number
  readonly objects: readonly Named[]
}

const objectOf = ([name, version]: Named) => ({ metadata: { name, namespace: 'ops', resourceVersion: `${version}` } })

/** A server whose first watch shows one event; then its connections break, and its store is another one. */
export class StoreBehindConnection implements AsyncDisposable {
  /** How often the whole collection was listed. */
  lists = 0
  /** The first watch in the other store. */
  readonly watched: PromiseWithResolvers<URL> = Promise.withResolvers()
  readonly server: LoopbackServer
  readonly #opened = Promise.withResolvers<void>()
  #state: StoreState
  #watch: ServerResponse | undefined

  private constructor(state: StoreState, server: LoopbackServer) {
    this.#state = state
    this.server = server
  }

  static async start(
    state: StoreState,
    event: readonly [type: string, name: string, version: number] | undefined,
  ): Promise<StoreBehindConnection> {
    const server = await LoopbackServer.start((request, response) => {
      const url = new URL(request.url ?? '', 'http://store')
      if (url.searchParams.get('watch') !== 'true') store.#list(url, response)
      else if (store.#watch !== undefined) {
        response.writeHead(200).flushHeaders()
        store.watched.resolve(url)
      } else {
        store.#watch = response.writeHead(200)
        response.flushHeaders()
        const [type, ...object] = event ?? []
        if (type !== undefined)
          response.write(`${JSON.stringify({ type, object: objectOf(object as unknown as Named) })}\n`)
        store.#opened.resolve()
      }
    })
    const store = new StoreBehindConnection(state, server)
    return store
  }

  /** Breaks the watch, after which clients find another state. */
  restore(state: StoreState): void {
    this.#state = state
    void this.#opened.promise.then(() => this.#watch?.destroy())
  }

  #list({ searchParams }: URL, response: ServerResponse): void {
    const { version, objects } = this.#state
    const name = /metadata\.name=([^,]+)/.exec(searchParams.get('fieldSelector') ?? '')?.[1]
    const limit = Number(searchParams.get('limit'))
    if (name === undefined && limit > 1) this.lists += 1
    const items = objects.filter((named) => name === undefined || named[0] === name).slice(0, limit)
    answer(response, 200, { metadata: { resourceVersion: `${version}` }, items: items.map(objectOf) })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]()
  }
}
