import { setTimeout as delay } from 'node:timers/promises'
import { startApiServer } from '@tenure/api-server'
import { startControlPlane } from '@tenure/test-control-plane'
import { ContractClient, type Credentials } from './contract-client.ts'

/** Who a client certificate speaks for. */
interface User {
  readonly name: string
  readonly groups?: readonly string[]
}

/** The API server that this run is about: the embedded one, or a real kube-apiserver. */
export interface ApiServerUnderTest extends AsyncDisposable {
  /** An administrator. */
  readonly admin: ContractClient
  /** A client for a user; nobody may do anything until a role is bound. */
  clientFor(user: User): ContractClient
  /** A client that shows no certificate, and a token if one is given. */
  clientWithoutCertificate(token?: string): ContractClient
  kubeConfig(user: User): string
  /** Makes the server forget past events: at once for watches, and soon for lists. */
  forgetHistory(): Promise<void>
  /** Makes a namespace of its own for a test; returns its name. */
  createNamespace(): Promise<string>
}

const ADMIN: User = { name: 'contract-admin', groups: ['system:masters'] }

/** The election controller is part of the contract. */
const COORDINATION = {
  featureGates: { CoordinatedLeaderElection: true },
  runtimeConfig: { 'coordination.k8s.io/v1beta1': true, 'coordination.k8s.io/v1alpha2': true },
} as const

interface Running {
  readonly access: (user: User) => Required<Omit<Credentials, 'token'>>
  readonly kubeConfig: (user: User) => string
  readonly forgetHistory: () => Promise<void>
  readonly stop: () => Promise<void>
}

/** Starts the server that `TENURE_API_SERVER` names: `embedded` or `real`. */
export async function startApiServerUnderTest(): Promise<ApiServerUnderTest> {
  const { access, kubeConfig, forgetHistory, stop } = await startNamed(process.env['TENURE_API_SERVER'])
  const clients: ContractClient[] = []
  const open = (credentials: Credentials): ContractClient => {
    const client = new ContractClient(credentials)
    clients.push(client)
    return client
  }
  const admin = open(access(ADMIN))
  let namespaces = 0
  return {
    admin,
    clientFor: (user) => open(access(user)),
    clientWithoutCertificate(token) {
      const { url, caCert } = access(ADMIN)
      return open({ url, caCert, ...(token === undefined ? {} : { token }) })
    },
    kubeConfig,
    forgetHistory,
    async createNamespace() {
      const name = `contract-${(namespaces += 1)}`
      const { status } = await admin.post('/api/v1/namespaces', { metadata: { name } })
      if (status !== 201) throw new Error(`namespace ${name} was not created: ${status}`)
      return name
    },
    async [Symbol.asyncDispose]() {
      for (const client of clients) client[Symbol.dispose]()
      await stop()
    },
  }
}

async function startNamed(name: string | undefined): Promise<Running> {
  if (name === 'embedded') return startEmbedded()
  if (name === 'real') return startReal()
  throw new Error(`Expected TENURE_API_SERVER to be embedded or real, got ${name}`)
}

async function startEmbedded(): Promise<Running> {
  const server = await startApiServer(COORDINATION)
  return {
    access: (user) => readKubeConfig(server.kubeConfig(user)),
    kubeConfig: (user) => server.kubeConfig(user),
    forgetHistory: async () => server.store.compact(),
    stop: () => server.stop(),
  }
}

async function startReal(): Promise<Running> {
  const controlPlane = await startControlPlane({
    ...COORDINATION,
    apiServerArguments: ['--etcd-compaction-interval=1s'],
  })
  return {
    access: (user) => controlPlane.access(user),
    kubeConfig: (user) => controlPlane.kubeConfig(user),
    // It compacts every second what was written before, and a new process has seen nothing of it.
    forgetHistory: () => controlPlane.restartApiServer(),
    stop: () => controlPlane.stop(),
  }
}

function readKubeConfig(text: string): Required<Omit<Credentials, 'token'>> {
  const field = (name: string): string => new RegExp(`${name}: (\\S+)`).exec(text)?.[1] ?? ''
  const decoded = (name: string): string => Buffer.from(field(name), 'base64').toString()
  return {
    url: field('server'),
    caCert: decoded('certificate-authority-data'),
    cert: decoded('client-certificate-data'),
    key: decoded('client-key-data'),
  }
}

/** Asks until the answer fits: the real server takes a moment to notice a new role or definition. */
export async function eventually<T>(ask: () => Promise<T>, fits: (answer: T) => boolean): Promise<T> {
  for (let attempt = 0; ; attempt += 1) {
    const answer = await ask()
    if (fits(answer) || attempt >= 200) return answer
    await delay(50)
  }
}
