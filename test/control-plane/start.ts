/** Runs a control plane until Ctrl-C: `node --conditions=@tenure/source test/control-plane/start.ts [kubeconfig]`. */
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startControlPlane } from './control-plane.ts'

const interrupted = Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
const begun = performance.now()
const controlPlane = await startControlPlane()
const folder = await mkdtemp(join(tmpdir(), 'tenure-kubeconfig-'))
const kubeConfig = process.argv[2] ?? join(folder, 'config')
await controlPlane.writeKubeConfig(kubeConfig)
console.log(`${controlPlane.url} is ready after ${Math.round(performance.now() - begun)} ms`)
console.log(`export KUBECONFIG=${kubeConfig}`)

const servers = [controlPlane.etcd, controlPlane.apiServer]
const failure = Promise.race(servers.map(async (server) => [await server.exited, server] as const))
const failed = await Promise.race([failure, interrupted.then(() => undefined)])
if (failed !== undefined) {
  const [exit, server] = failed
  console.error(`${server.name} ended with ${exit.code ?? exit.signal}:\n${server.log}`)
  process.exitCode = 1
}
await controlPlane.stop()
await rm(folder, { recursive: true, maxRetries: 5 })
