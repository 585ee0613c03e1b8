import * as http from 'node:http'
import * as https from 'node:https'
import type { Access } from '@tenure/test-control-plane'

/** A Lease as JSON. */
export interface RawLease {
  readonly metadata: {
    readonly resourceVersion?: string
    readonly name: string
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly spec: { readonly holderIdentity: string }
}

/** The minimal client for a handover: one connection for writes and one for a watch. */
export class RawLeaseClient {
  readonly #transport: typeof http | typeof https
  readonly #agent: http.Agent
  readonly #access: Access
  readonly #path: string

  constructor(access: Access, namespace: string) {
    this.#access = access
    this.#path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`
    // A proxy of the bench is reached without TLS.
    this.#transport = access.url.startsWith('http:') ? http : https
    const options = { keepAlive: true, ca: access.caCert, cert: access.cert, key: access.key }
    this.#agent = new this.#transport.Agent(options)
  }

  /** Reads the lease. */
  get(name: string): Promise<RawLease> {
    return this.#send('GET', `/${name}`)
  }

  /** Creates the lease. */
  create(name: string): Promise<RawLease> {
    return this.#send('POST', '', { ...lease(name, ''), metadata: { name } })
  }

  /** Replaces the lease if it still has this version. */
  put(stored: RawLease, holderIdentity: string): Promise<RawLease> {
    const { name, resourceVersion } = stored.metadata
    return this.#send('PUT', `/${name}`, { ...lease(name, holderIdentity), metadata: { name, resourceVersion } })
  }

  /** Calls `changed` for every event of the lease, from the given version on. */
  async watch(stored: RawLease, changed: (lease: RawLease) => void): Promise<void> {
    const { name, resourceVersion } = stored.metadata
    const query = `?watch=true&fieldSelector=metadata.name=${name}&resourceVersion=${resourceVersion}`
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const url = new URL(this.#path + query, this.#access.url)
    const started = this.#transport.request(url, { agent: this.#agent }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('error', () => {})
      response.on('data', (chunk: string) => {
        const lines = (text + chunk).split('\n')
        text = lines.pop() ?? ''
        for (const line of lines) changed((JSON.parse(line) as { object: RawLease }).object)
      })
      resolve()
    })
    started.on('error', reject)
    started.end()
    await promise
  }

  close(): void {
    this.#agent.destroy()
  }

  #send(method: string, path: string, body?: unknown): Promise<RawLease> {
    const { promise, resolve, reject } = Promise.withResolvers<RawLease>()
    const text = body === undefined ? '' : JSON.stringify(body)
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
    const url = new URL(this.#path + path, this.#access.url)
    const started = this.#transport.request(url, { method, agent: this.#agent, headers }, (response) => {
      let answer = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => (answer += chunk))
      response.on('end', () =>
        (response.statusCode ?? 500) < 300 ? resolve(JSON.parse(answer) as RawLease) : reject(new Error(answer)),
      )
    })
    started.setNoDelay(true)
    started.on('error', reject)
    started.end(text)
    return promise
  }
}

function lease(name: string, holderIdentity: string): object {
  const now = new Date().toISOString().replace('Z', '000Z')
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name },
    spec: { holderIdentity, leaseDurationSeconds: 15, acquireTime: now, renewTime: now, leaseTransitions: 0 },
  }
}
