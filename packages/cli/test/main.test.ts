import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const MAIN = join(import.meta.dirname, '../src/main.ts')
let folder = ''

beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'tenure-cli-'))))
afterAll(() => rm(folder, { recursive: true, maxRetries: 5 }))

function tenure(...args: string[]) {
  const env = { ...process.env, XDG_STATE_HOME: folder }
  const child = spawn(process.execPath, ['--conditions=@tenure/source', MAIN, ...args], { cwd: folder, env })
  const output = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (output.stdout += chunk))
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (output.stderr += chunk))
  return { child, output, closed: once(child, 'close') as Promise<[number | null]> }
}

describe('tenure', () => {
  it('dev serves until it is interrupted and writes a kubeconfig that leads to it', async () => {
    const { child, output, closed } = tenure('dev', '--kubeconfig', 'kubeconfig')
    while (!output.stdout.includes('Ctrl-C')) await once(child.stdout, 'data')
    expect(output.stdout).toMatch(/https:\/\/127\.0\.0\.1:\d+/)
    expect(await readFile(join(folder, 'kubeconfig'), 'utf8')).toContain('certificate-authority-data')
    child.kill('SIGINT')
    expect(await closed).toEqual([0, null])
  })

  it('dev lets nobody else read its kubeconfig, whatever was there, and takes the key of the administrator with it', async () => {
    const path = join(folder, 'readable')
    await writeFile(path, 'apiVersion: v1', { mode: 0o644 })
    const { child, output, closed } = tenure('dev', '--kubeconfig', path)
    while (!output.stdout.includes('Ctrl-C')) await once(child.stdout, 'data')
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    child.kill('SIGTERM')
    await closed
    await expect(stat(path)).rejects.toMatchObject({ code: 'ENOENT' })
  })

  it('manifests prints objects that kubectl can apply', async () => {
    const { output, closed } = tenure('manifests', '--name', 'janitor', '--namespace', 'ops', '--image', 'janitor:1')
    expect(await closed).toEqual([0, null])
    const kinds = [...output.stdout.matchAll(/^kind: (\w+)$/gm)].map(([, kind]) => kind)
    expect(kinds).toEqual(['ServiceAccount', 'Role', 'RoleBinding', 'FlowSchema', 'PodDisruptionBudget', 'Deployment'])
    expect(output.stdout).toContain('resourceNames:\n      - janitor\n')
  })

  it('manifests --for-life prints the rights of a leader for life', async () => {
    const place = ['--name', 'janitor', '--namespace', 'ops', '--image', 'janitor:1']
    const { output, closed } = tenure('manifests', ...place, '--for-life')
    expect(await closed).toEqual([0, null])
    expect(output.stdout).toContain('- configmaps\n')
    expect(output.stdout).toContain('name: POD_UID\n')
    expect(output.stdout).not.toContain('- leases\n')
  })

  it('policies prints both fences on the server', async () => {
    const lease = ['--name', 'janitor', '--namespace', 'ops']
    const { output, closed } = tenure(
      'policies',
      ...lease,
      '--resource',
      'configmaps',
      '--resource',
      'apps/deployments',
    )
    expect(await closed).toEqual([0, null])
    const kinds = [...output.stdout.matchAll(/^kind: (\w+)$/gm)].map(([, kind]) => kind)
    const pair = ['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding']
    expect(kinds).toEqual([...pair, 'ValidatingAdmissionPolicyBinding', ...pair])
    expect(output.stdout).toContain('- deployments/*\n')
    expect(output.stdout).toContain("request.userInfo.username in ['system:serviceaccount:ops:janitor']")
  })

  it.each([
    [['dve'], "unknown command 'dve' (Did you mean dev?)"],
    [['policies', '--name', 'janitor'], 'Expected `--name` and `--namespace` of the Lease'],
    [['policies', '--name', 'j', '--namespace', 'o'], 'Expected `resources` to name at least one resource'],
    [['policies', '--name', 'j', '--namespace', 'o', '--check', 'none'], '`--check` to be term, holder or all'],
    [
      ['policies', '--name', 'j', '--namespace', 'o', '--resource', 'apps/v1/deployments'],
      'Expected `--resource` to be a plural name or GROUP/PLURAL',
    ],
    [[], 'missing command: dev, status, explain,'],
    [['manifests', '--name', 'janitor'], 'Expected `--namespace` to be given'],
    [['manifests', '--replicas', 'two'], 'Expected `--replicas` to be a whole number, got `two`'],
    [
      ['manifests', '--name', 'Janitor', '--namespace', 'ops', '--image', 'i'],
      'Expected `name` to be an RFC 1123 label',
    ],
    [['dev', '--port', '99999'], 'Expected `--port` to be a TCP port between 0 and 65535, got `99999`'],
    [['dev', '--prot', '1'], "unknown option '--prot' (Did you mean --port?) Run `tenure dev --help`."],
  ])('refuses %j with code 2 and says why', async (args, message) => {
    const { output, closed } = tenure(...args)
    expect(await closed).toEqual([2, null])
    expect(output.stderr).toContain(message)
    expect(output.stderr.trimEnd().split('\n')).toHaveLength(1)
  })

  it('dev names the port that is in use, with code 1', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    const { output, closed } = tenure('dev', '--port', String(port))
    expect(await closed).toEqual([1, null])
    expect(output.stderr).toBe(
      `Could not start the API server: listen EADDRINUSE: address already in use 127.0.0.1:${port}. ` +
        'Choose another `--port`, or omit it.\n',
    )
    other.close()
  })

  it.each([
    [['dev', '--file', 'absent/state'], 'Choose another `--file`, or omit it.'],
    [['dev', '--kubeconfig', 'absent/kubeconfig'], 'Choose a writable path with `--kubeconfig`.'],
    [
      ['policies', '--name', 'j', '--namespace', 'o', '--resource', 'configmaps', '--kubeconfig', 'absent'],
      'The kubeconfig named by the given path does not exist: absent',
    ],
  ])('ends %j with code 1 and says why', async (args, message) => {
    const { output, closed } = tenure(...args)
    expect(await closed).toEqual([1, null])
    expect(output.stderr).toContain(message)
    expect(output.stderr).not.toContain('--help')
  })

  it.each([['bash', ['-c', 'source <(cat); complete -p tenure'], 'tenure']])(
    'complete prints a script that %s accepts',
    async (shell, args, expected) => {
      const { output, closed } = tenure('complete', shell)
      expect(await closed).toEqual([0, null])
      const child = spawn(shell, args)
      let out = ''
      child.stdout.setEncoding('utf8').on('data', (chunk: string) => (out += chunk))
      child.stdin.end(output.stdout)
      expect(await once(child, 'close')).toEqual([0, null])
      expect(out).toContain(expected)
    },
  )

  it.each(['zsh', 'fish'])('complete prints a script for %s', async (shell) => {
    const { output, closed } = tenure('complete', shell)
    expect(await closed).toEqual([0, null])
    expect(output.stdout).toContain('tenure complete --')
  })

  it('completes commands and flags', async () => {
    const commands = tenure('complete', '--', 'st')
    expect(await commands.closed).toEqual([0, null])
    expect(commands.output.stdout).toMatch(/^status\t.*\nstep-down\t/)
    const flags = tenure('complete', '--', 'status', '--')
    await flags.closed
    expect(flags.output.stdout).toContain('--all-namespaces')
  })

  it('status shows the leases of a running server, and ends quietly when nobody reads its output', async () => {
    const server = tenure('dev', '--kubeconfig', 'for-status')
    while (!server.output.stdout.includes('Ctrl-C')) await once(server.child.stdout, 'data')
    const { output, closed } = tenure('status', '-A', '--kubeconfig', 'for-status')
    expect(await closed).toEqual([0, null])
    expect([output.stdout, output.stderr]).toEqual(['', 'There are no leases in the cluster.\n'])
    const help = tenure('--help')
    help.child.stdout.destroy()
    expect(await help.closed).toEqual([0, null])
    expect(help.output.stderr).toBe('')
    server.child.kill('SIGTERM')
    await server.closed
  })

  it('replay names the file that it cannot read', async () => {
    const { output, closed } = tenure('replay', 'absent.jsonl')
    expect(await closed).toEqual([1, null])
    expect(output.stderr).toContain('Could not replay absent.jsonl: ENOENT')
  })

  it.each([
    ['step-down', 'janitor'],
    ['transfer', 'janitor', '--to', 'other'],
    ['explain', 'janitor'],
    ['watch', 'janitor'],
    ['doctor', 'janitor'],
    ['chaos', 'janitor'],
  ])('%s says that there is no such lease', async (...args) => {
    const server = tenure('dev', '--kubeconfig', args[0] ?? '')
    while (!server.output.stdout.includes('Ctrl-C')) await once(server.child.stdout, 'data')
    const { output, closed } = tenure(...args, '--kubeconfig', args[0] ?? '')
    expect(await closed).toEqual([1, null])
    expect(output.stderr).toBe('The lease default/janitor does not exist; the namespace has no leases.\n')
    server.child.kill('SIGTERM')
    await server.closed
  })
})
