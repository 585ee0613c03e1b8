#!/usr/bin/env node
import { parseArgs } from 'node:util'
import { OptionsError } from '@tenure/core'
import { dev } from './dev.ts'

const USAGE = `Usage: tenure dev [--port PORT] [--file FILE] [--kubeconfig FILE]

  dev   starts an embedded Kubernetes API server on this machine and stays until Ctrl-C

        --port PORT        TCP port on loopback; any free one by default
        --file FILE        keep the objects in this file; in memory only by default
        --kubeconfig FILE  where to write the kubeconfig; tenure-kubeconfig.yaml by default
`

process.exitCode = await main(process.argv.slice(2))

async function main(argv: readonly string[]): Promise<number> {
  try {
    const { values, positionals } = parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        help: { type: 'boolean', short: 'h' },
        port: { type: 'string' },
        file: { type: 'string' },
        kubeconfig: { type: 'string' },
      },
    })
    if (values.help === true) {
      console.log(USAGE)
      return 0
    }
    if (positionals.length !== 1 || positionals[0] !== 'dev') {
      throw new OptionsError(`Expected the command \`dev\`, got \`${positionals.join(' ')}\``)
    }
    await dev(values)
    return 0
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error))
    const isUsage = error instanceof OptionsError || (error instanceof TypeError && 'code' in error)
    if (isUsage) console.error(`\n${USAGE}`)
    return isUsage ? 2 : 1
  }
}
