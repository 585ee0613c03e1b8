import type { IncomingMessage } from 'node:http'
import { get, type RequestOptions } from 'node:https'
import { setTimeout as delay } from 'node:timers/promises'
import type { KubeConfig, V1ObjectMeta } from '@kubernetes/client-node'

/** Any object of the API. */
export interface WatchedObject {
  readonly metadata: V1ObjectMeta
  readonly [field: string]: unknown
}

/** A change, or an object that was there when the watch began. */
export interface WatchedChange {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly object: WatchedObject
  readonly version: bigint
}

/** What a {@link RawWatch} follows. */
export interface RawWatchOptions {
  readonly kubeConfig: KubeConfig
  /** Path of a collection, such as `/api/v1/namespaces/default/configmaps`. */
  readonly path: string
  readonly onChange: (change: WatchedChange) => void
}

const RECONNECT_AFTER_MS = 200
const CATCH_UP_WITHIN_MS = 5000

/**
 * Sees every version of every object of a collection, in order: lists, then watches, and watches on from the last version when
 * the connection ends. Shares nothing with the code under observation but the kubeconfig.
 */
export class RawWatch {
  readonly #options: RawWatchOptions
  readonly #stopping = new AbortController()
  #running: Promise<void> = Promise.resolve()
  #version = 0n
  #gap: string | undefined

  private constructor(options: RawWatchOptions) {
    this.#options = options
  }

  /** Resolves once the collection was listed. */
  static async start(options: RawWatchOptions): Promise<RawWatch> {
    const watch = new RawWatch(options)
    await watch.#list()
    watch.#running = watch.#run()
    return watch
  }

  /** The last version that was seen. */
  get version(): bigint {
    return this.#version
  }

  /** Why versions may have gone unseen; undefined when none has. */
  get gap(): string | undefined {
    return this.#gap
  }

  /** Resolves when the connection is closed. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#running
  }

  /** Resolves once everything was seen that is there now; notes a gap when that takes too long. */
  async catchUp(): Promise<void> {
    const { items } = await this.#read()
    const newest = items.map(({ metadata }) => versionOf(metadata)).reduce((a, b) => (a > b ? a : b), 0n)
    const deadline = performance.now() + CATCH_UP_WITHIN_MS
    while (this.#version < newest && performance.now() < deadline) await delay(10)
    if (this.#version < newest) this.#gap ??= `the watch of ${this.#options.path} is behind`
  }

  async #list(): Promise<void> {
    const { metadata, items } = await this.#read()
    for (const object of items) {
      this.#options.onChange({ type: 'ADDED', object, version: versionOf(object.metadata) })
    }
    this.#version = versionOf(metadata)
  }

  async #read(): Promise<{ readonly metadata: V1ObjectMeta; readonly items: readonly WatchedObject[] }> {
    const body: string[] = []
    for await (const line of linesOf(await this.#get({}))) body.push(line)
    return JSON.parse(body.join('\n')) as { metadata: V1ObjectMeta; items: WatchedObject[] }
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted && this.#gap === undefined) {
      // A connection that breaks loses nothing: the next one goes on from the last version.
      await this.#follow().catch(() => {})
      await delay(RECONNECT_AFTER_MS, undefined, { signal }).catch(() => {})
    }
  }

  async #follow(): Promise<void> {
    const from = { watch: 'true', allowWatchBookmarks: 'true', resourceVersion: String(this.#version) }
    for await (const line of linesOf(await this.#get(from))) {
      const { type, object } = JSON.parse(line) as { type: string; object: WatchedObject }
      if (type === 'ERROR') {
        this.#gap = `the watch of ${this.#options.path} cannot go on: ${String(object['message'])}`
        return
      }
      const version = versionOf(object.metadata)
      if (type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED') {
        this.#options.onChange({ type, object, version })
      }
      this.#version = version
    }
  }

  async #get(query: Record<string, string>): Promise<IncomingMessage> {
    const { kubeConfig, path } = this.#options
    const url = new URL(`${path}?${new URLSearchParams(query).toString()}`, kubeConfig.getCurrentCluster()?.server)
    const options: RequestOptions = {}
    await kubeConfig.applyToHTTPSOptions(options)
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      get(url, { ...options, signal: this.#stopping.signal }, resolve).on('error', reject)
    })
    if (response.statusCode === 410) this.#gap = `the versions after ${this.#version} of ${path} are gone`
    if (response.statusCode !== 200) throw new Error(`GET ${url.pathname} was answered with ${response.statusCode}`)
    return response
  }
}

async function* linesOf(response: IncomingMessage): AsyncIterable<string> {
  let rest = ''
  for await (const chunk of response.setEncoding('utf8') as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
  if (rest !== '') yield rest
}

function versionOf({ resourceVersion }: V1ObjectMeta): bigint {
  return BigInt(resourceVersion ?? 0)
}
