import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';

// Preloaded into a process under trial: says from which ports it accepted connections.
subscribe('net.server.socket', (message) => {
  const { socket } = message as { readonly socket: Socket };
  process.stderr.write(`accepted ${socket.remotePort}\n`);
});
