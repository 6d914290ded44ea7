# Confirms to Treeline after a playbook, for each host of the inventory plugin, whether its record was applied.
# ../README.md says when to use it, and which client may confirm.
from __future__ import annotations

import json

from ansible import context
from ansible.errors import AnsibleParserError
from ansible.plugins.callback import CallbackBase
from ansible.plugins.loader import inventory_loader

DOCUMENTATION = r'''
name: treeline
type: notification
short_description: Confirms to Treeline which hosts a playbook has configured
description:
  - After a playbook, confirms for each of its hosts the record that the inventory plugin C(treeline) gave it, as applied or failed.
  - With C(--check) it confirms C(noop), and nothing counts as applied. A partial run, as with C(--tags), confirms nothing.
  - A failed confirmation is a warning, and does not change the result of the run.
requirements: [enabled in C(callbacks_enabled), the inventory plugin C(treeline)]
'''

# Options of partial runs.
PARTS = ('start_at_task', 'step', 'skip_tags')


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = 'notification'
    CALLBACK_NAME = 'treeline'
    CALLBACK_NEEDS_ENABLED = True

    def v2_playbook_on_stats(self, stats):
        inventory = inventory_loader.get('treeline', class_only=True)
        used = list(inventory.used.values()) if inventory else []
        if used and is_part(context.CLIARGS):
            self._display.display('treeline: a part of the playbook has run; nothing is confirmed')
            return
        for controller, etags in used:
            self._confirm_all(controller, {host: etags[host] for host in sorted(stats.processed) if host in etags}, stats)

    def _confirm_all(self, controller, etags, stats):
        faults = []
        for host, etag in etags.items():
            try:
                fault = confirm(controller, host, etag, stats.summarize(host))
            except AnsibleParserError as error:
                # The controller does not answer: the other hosts would fail too.
                self._display.warning(f'treeline: the hosts from {host} on are not confirmed: {error.message}')
                return
            if fault is not None:
                faults.append(f'{host}: {fault}')
        if faults:
            self._display.warning(f'treeline: {len(faults)} of {len(etags)} hosts are not confirmed; {faults[0]}')


def confirm(controller, host, etag, summary):
    """Confirms the result of a host. Returns None, or why the controller refuses it."""
    failed = summary['failures'] + summary['unreachable'] > 0
    outcome = 'noop' if context.CLIARGS.get('check') else 'failed' if failed else 'applied'
    counts = ', '.join(f'{summary[count]} {count}' for count in ('ok', 'changed', 'failures', 'unreachable'))
    body = json.dumps({'digest': etag, 'outcome': outcome, 'message': f'Ansible: {counts}'})
    status, _, content = controller.request('POST', f'/hiera/{host}/applied', {'Content-Type': 'application/json'}, body)
    return None if status == 200 else controller.refusal(status, content)


def is_part(options):
    return any(options.get(name) for name in PARTS) or tuple(options.get('tags') or ('all',)) != ('all',)
