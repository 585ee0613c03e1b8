import { EventEmitter, once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import * as https from 'node:https'
import { json } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ControlPlane } from '@tenure/test-control-plane'

/** An EndpointSlice, as far as this watch reads it. */
export interface SeenSlice {
  readonly metadata: {
    readonly name: string
    readonly uid: string
    readonly resourceVersion: string
    readonly labels?: Readonly<Record<string, string>>
    readonly ownerReferences?: readonly Readonly<Record<string, unknown>>[]
  }
  readonly addressType: string
  readonly endpoints:
    | readonly {
        readonly addresses: readonly string[]
        readonly conditions: { readonly ready?: boolean; readonly serving?: boolean; readonly terminating?: boolean }
      }[]
    | null
  readonly ports: readonly Readonly<Record<string, unknown>>[] | null
}

/** The slice from a moment on. */
export interface SliceVersion {
  /** When the watch saw it, on the monotonic clock of this machine, in milliseconds. */
  readonly at: number
  /** The version of the object; empty while there is none. */
  readonly version: string
  /** The addresses that clients may use: the ready ones, sorted. Those without a condition are ready. */
  readonly addresses: readonly string[]
  /** All addresses, also of endpoints that are not ready, sorted. */
  readonly listed: readonly string[]
  /** The object; `undefined` while there is none. */
  readonly slice: SeenSlice | undefined
}

/** Which slice to watch. */
export interface SliceName {
  readonly namespace: string
  readonly name: string
}

/** How long to wait for a change of the slice. */
const PATIENCE_MS = 90_000

/** The delay before the next attempt to watch. Well below what the tests measure after an outage of the API server. */
const RETRY_MS = 20

/** Now, on the monotonic clock that all processes of this machine share, in milliseconds. */
export function monotonicNow(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

/** An independent watch of one EndpointSlice. Shares no code with the replicas, and survives restarts of the API server. */
export class SliceWatch implements AsyncDisposable {
  readonly #server: ControlPlane
  readonly #name: SliceName
  readonly #agent: https.Agent
  readonly #changes = new EventEmitter().setMaxListeners(0)
  readonly #versions: SliceVersion[] = []
  readonly #ended = new AbortController()
  #following: Promise<void> = Promise.resolve()

  private constructor(server: ControlPlane, name: SliceName) {
    this.#server = server
    this.#name = name
    const { caCert, cert, key } = server.access({ name: 'observer', groups: ['system:masters'] })
    this.#agent = new https.Agent({ keepAlive: true, ca: caCert, cert, key })
  }

  /** Begins with the present version. */
  static async open(server: ControlPlane, name: SliceName): Promise<SliceWatch> {
    const watch = new SliceWatch(server, name)
    const version = await watch.#list()
    watch.#following = watch.#follow(version)
    return watch
  }

  /** All versions so far, oldest first. */
  get versions(): readonly SliceVersion[] {
    return this.#versions
  }

  /** The present version. */
  get present(): SliceVersion {
    const last = this.#versions.at(-1)
    if (last === undefined) throw new Error('Expected the watch to have begun')
    return last
  }

  /** How often the slice was written since `at`. */
  writesSince(at: number): number {
    return this.#versions.filter((each) => each.at > at).length
  }

  /**
   * The first version at `since` or later that fits, past or to come.
   *
   * @param what the expectation, for the message
   * @throws Error after 90 s
   */
  async until(what: string, fits: (version: SliceVersion) => boolean, since = 0): Promise<SliceVersion> {
    const signal = AbortSignal.timeout(PATIENCE_MS)
    for (;;) {
      const found = this.#since(since).find(fits)
      if (found !== undefined) return found
      if (signal.aborted) throw new Error(`Expected ${what} within ${PATIENCE_MS} ms; ${this.#told(since)}`)
      await once(this.#changes, 'change', { signal }).catch(() => {})
    }
  }

  /** The first version at `since` or later with this address. */
  async with(address: string, since = 0): Promise<SliceVersion> {
    return await this.until(`${address} in the slice`, ({ addresses }) => addresses.includes(address), since)
  }

  /** The first version at `since` or later without this address. */
  async without(address: string, since: number): Promise<SliceVersion> {
    return await this.until(`${address} out of the slice`, ({ addresses }) => !addresses.includes(address), since)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort()
    this.#agent.destroy()
    await this.#following
  }

  /** What was there at `since`, and everything later. */
  #since(since: number): readonly SliceVersion[] {
    const first = this.#versions.findLastIndex(({ at }) => at <= since)
    return this.#versions.slice(Math.max(0, first))
  }

  #told(since: number): string {
    const told = this.#since(since).map(({ at, addresses }) => `${Math.round(at - since)} ms: ${addresses.join(' ')}`)
    return told.join('; ')
  }

  async #follow(from: string): Promise<void> {
    // Resumes where it ended, so that it misses nothing that the API server still remembers.
    let version: string | undefined = from
    while (!this.#ended.signal.aborted) {
      try {
        version ??= await this.#list()
        version = await this.#watch(version)
      } catch {
        // The API server is down.
      }
      await sleep(RETRY_MS, undefined, { signal: this.#ended.signal }).catch(() => {})
    }
  }

  async #list(): Promise<string> {
    const answer = await this.#ask('')
    const list = (await json(answer)) as { metadata: { resourceVersion: string }; items?: readonly SeenSlice[] }
    if (list.items === undefined) throw new Error(`Expected a list of slices, got ${answer.statusCode}`)
    this.#see(list.items[0])
    return list.metadata.resourceVersion
  }

  /** Returns where to resume; `undefined` if the API server has forgotten the version. */
  async #watch(from: string): Promise<string | undefined> {
    let version = from
    const answer = await this.#ask(`&watch=true&resourceVersion=${from}`)
    let text = ''
    answer.setEncoding('utf8')
    try {
      for await (const chunk of answer as AsyncIterable<string>) {
        const lines = (text + chunk).split('\n')
        text = lines.pop() ?? ''
        for (const line of lines) {
          const { type, object } = JSON.parse(line) as { type: string; object: SeenSlice }
          if (type === 'ERROR') return undefined
          version = object.metadata.resourceVersion
          this.#see(type === 'DELETED' ? undefined : object)
        }
      }
    } catch {
      // The connection broke.
    }
    return answer.statusCode === 200 ? version : undefined
  }

  async #ask(query: string): Promise<IncomingMessage> {
    const { namespace, name } = this.#name
    const path = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices?fieldSelector=metadata.name%3D${name}`
    const sent = https.get(new URL(path + query, this.#server.url), { agent: this.#agent, signal: this.#ended.signal })
    const [answer] = (await once(sent, 'response')) as [IncomingMessage]
    return answer
  }

  #see(slice: SeenSlice | undefined): void {
    const version = slice?.metadata.resourceVersion ?? ''
    if (this.#versions.at(-1)?.version === version) return
    const endpoints = slice?.endpoints ?? []
    const ready = endpoints.filter(({ conditions }) => conditions.ready !== false)
    this.#versions.push({ at: monotonicNow(), version, addresses: sorted(ready), listed: sorted(endpoints), slice })
    this.#changes.emit('change')
  }
}

function sorted(endpoints: readonly { readonly addresses: readonly string[] }[]): readonly string[] {
  return endpoints.flatMap(({ addresses }) => addresses).toSorted()
}
