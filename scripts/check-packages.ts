import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'

/** Checks every package as it would be published: what its `exports` promise must be in the tarball and resolve. */
const failed = readdirSync('packages').filter((name) => !passes(`packages/${name}`))
if (failed.length > 0) {
  console.error(`Package checks failed for: ${failed.join(', ')}`)
  process.exitCode = 1
}

function passes(folder: string): boolean {
  return run('publint', ['--strict', folder]) && run('attw', ['--pack', folder, '--profile', 'esm-only'])
}

function run(command: string, args: readonly string[]): boolean {
  console.log(`${command} ${args.join(' ')}`)
  return spawnSync(command, args, { stdio: 'inherit' }).status === 0
}
