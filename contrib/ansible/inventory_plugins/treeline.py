# The servers of Treeline as an inventory of Ansible: groups from their stacks, host variables from their records, all in one request.
# README.md beside this folder says how to use it. Needs ansible-core 2.14 or newer, and nothing else.
from __future__ import annotations

import base64
import hashlib
import http.client
import json
import os
import queue
import re
import ssl
import tempfile
import threading
import time
import urllib.parse
import zlib

from ansible import constants
from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin, Constructable
from ansible.utils.unsafe_proxy import wrap_var
from ansible.utils.vars import isidentifier
from ansible.vars.reserved import get_reserved_names

DOCUMENTATION = r'''
name: treeline
short_description: Servers of Treeline with their configuration
description:
  - Reads all servers that a Treeline controller has a record of, in one request over mutual TLS.
  - The record of a server is its host variable C(treeline), a dictionary. Its keys are host variables too, but those that Ansible has
    a meaning for, such as C(name), C(environment) and C(ansible_…), and those that can be no variable, such as C(profile::port).
  - Groups are C(instance_…), C(group_…) (instance and resource key), C(role_…), C(environment_…) and C(location_…).
  - An inventory that cannot be read ends Ansible, whatever C(any_unparsed_is_failed) says.
extends_documentation_fragment: [constructed]
options:
  plugin:
    description: Marks the file as one of this plugin.
    required: true
    choices: [treeline]
  server:
    description: The address of the controller, such as C(https://treeline.example:8443).
    type: str
    required: true
    env: [{name: TREELINE_SERVER}]
  ca:
    description: A file with the certificates of the authorities that may have signed the controller's certificate. No others are trusted.
    type: path
    required: true
    env: [{name: TREELINE_CA}]
  cert:
    description: The file with the client certificate, which is registered with the controller.
    type: path
    required: true
    env: [{name: TREELINE_CERT}]
  key:
    description: The file with its private key, without a passphrase.
    type: path
    required: true
    env: [{name: TREELINE_KEY}]
  timeout:
    description: Seconds until a request must have been answered whole.
    type: float
    default: 30
    env: [{name: TREELINE_TIMEOUT}]
  variables:
    description: Whether the keys of a record are host variables too, beside C(treeline).
    type: bool
    default: true
  cache_directory:
    description: Where the last answer is kept, so that an unchanged estate is not sent again. Every run asks all the same.
    type: path
    default: ~/.cache/treeline-ansible
    env: [{name: TREELINE_CACHE_DIRECTORY}]
'''

EXAMPLES = r'''
# inventory.treeline.yaml
plugin: treeline
server: https://treeline.example:8443
ca: /etc/treeline/ca.crt
cert: /etc/treeline/ansible.crt
key: /etc/treeline/ansible.key
compose:
  ansible_host: address
keyed_groups:
  - { prefix: zone, key: zone }
groups:
  verbose: log_level == "debug"
'''

ALL = '/hiera/all?inventory=true'
MIB = 1024 * 1024
ANSWER_BYTES_MAX = 512 * MIB
# Words that Ansible gives a meaning in templates or for connections, beside those of plays and tasks. They stay in `treeline` alone.
MEANT = frozenset((
    *('dict', 'group_names', 'groups', 'hostvars', 'item', 'lookup', 'now', 'omit', 'play_hosts', 'playbook_dir', 'q', 'query', 'range'),
    *('treeline', 'undef', 'vars'),
))
MEANT_PREFIXES = ('_', 'ansible_', 'discovered_', 'inventory_', 'role_')
SELECTORS = ('role', 'environment', 'location')
NAME = re.compile(r'[A-Za-z0-9][A-Za-z0-9._-]{0,249}')
# A template has delimiters, which a task may choose: what holds no other characters than these is none, whatever they are.
PLAIN = re.compile(r'[A-Za-z0-9 _.,:/@+-]*')


class Controller:
    """Sends requests to a controller. Whatever is wrong is an AnsibleParserError that says what it is."""

    def __init__(self, server, ca, cert, key, timeout):
        address = urllib.parse.urlsplit(server)
        if address.scheme != 'https' or not address.hostname or address.path.strip('/'):
            raise AnsibleParserError(f'server is the address of a controller, https://HOST:PORT, not "{server}"')
        self.server = server
        self.timeout = timeout
        try:
            tls = ssl.create_default_context(cafile=ca)
        except (OSError, ValueError) as error:
            raise AnsibleParserError(f'cannot read certificates from {ca}: {error}') from error
        try:
            # Without an answer here, a key with a passphrase would have OpenSSL ask for it at the terminal.
            tls.load_cert_chain(cert, key, password=lambda: '')
        except (OSError, ValueError) as error:
            raise AnsibleParserError(f'cannot use the certificate {cert} with the key {key}: {error}') from error
        self.connection = http.client.HTTPSConnection(address.hostname, address.port or 443, timeout=timeout, context=tls)

    def request(self, method, path, headers=None, body=None):
        """Returns status, headers and body. Asks again while the controller is not ready, until the time is up."""
        ends = time.monotonic() + self.timeout
        while True:
            status, answered, content = self._within(ends, lambda: self._exchange(method, path, headers or {}, body))
            pause = int(answered.get('Retry-After') or 1) if status in (429, 503) else 0
            if pause == 0 or time.monotonic() + pause >= ends:
                return status, answered, content
            time.sleep(pause)

    def refusal(self, status, content):
        """Returns what an answer says that is none of those hoped for."""
        try:
            answer = json.loads(content)
            return f'{self.server} answered {status} {answer["error"]}: {answer["message"]}'
        except (ValueError, TypeError, KeyError):
            return f'{self.server} answered {status}, and not as a Treeline controller does'

    def _within(self, ends, work):
        """Returns what `work` returns. The limits of sockets are for each piece of an answer, and names are looked up without one."""
        answers = queue.SimpleQueue()

        def run():
            try:
                answers.put((work(), None))
            except Exception as error:  # It is raised below.
                answers.put((None, error))

        threading.Thread(target=run, daemon=True).start()
        try:
            answer, error = answers.get(timeout=max(0.001, ends - time.monotonic()))
        except queue.Empty:
            raise AnsibleParserError(f'{self.server} has not answered within {self.timeout:g} s') from None
        if error is not None:
            self.connection.close()
            raise AnsibleParserError(self._explain(error)) from error
        return answer

    def _exchange(self, method, path, headers, body):
        was_open = self.connection.sock is not None
        try:
            self.connection.request(method, path, body, headers)
            response = self.connection.getresponse()
        except (ConnectionError, http.client.HTTPException):
            # The controller may end an idle connection at the moment at which it is used.
            if not was_open:
                raise
            self.connection.close()
            return self._exchange(method, path, headers, body)
        content = response.read(ANSWER_BYTES_MAX + 1)
        if response.headers.get('Content-Encoding') == 'gzip':
            content = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(content, ANSWER_BYTES_MAX + 1)
        if len(content) > ANSWER_BYTES_MAX:
            raise OSError(f'the answer is larger than {ANSWER_BYTES_MAX // MIB} MiB')
        return response.status, response.headers, content

    def _explain(self, error):
        if isinstance(error, ssl.SSLCertVerificationError):
            return f'the certificate of {self.server} is not trusted: {error.verify_message}'
        if isinstance(error, TimeoutError):
            return f'{self.server} has not answered within {self.timeout:g} s'
        if isinstance(error, (ssl.SSLError, ConnectionResetError)):
            return f'{self.server} ended the TLS connection; does it trust the authority of the client certificate? {error}'
        return f'cannot ask {self.server}: {error}'


class Cache:
    """The last answer, in a file that only its owner can read. What is in the file is sent to nobody: its digest is."""

    def __init__(self, directory, name):
        self.path = os.path.join(directory, f'{hashlib.sha256(name.encode()).hexdigest()[:32]}.json')

    def read(self):
        """Returns the answer and its ETag, which is the digest of the bytes: a damaged file is not taken for an answer."""
        try:
            with open(self.path, 'rb') as file:
                content = file.read(ANSWER_BYTES_MAX)
        except OSError:  # There is none yet, or it is asked for anew.
            return None, None
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest())[:22].decode()
        return content, f'"{digest}"'

    def write(self, content):
        directory = os.path.dirname(self.path)
        os.makedirs(directory, mode=0o700, exist_ok=True)
        # Such a file has the mode 0600.
        with tempfile.NamedTemporaryFile(dir=directory, delete=False) as file:
            file.write(content)
        os.replace(file.name, self.path)


class InventoryModule(BaseInventoryPlugin, Constructable):
    NAME = 'treeline'

    # For the callback: by inventory file, the controller, and the ETag of the record that each host was first given. After
    # refresh_inventory, tasks may have used both records of a host: the older one is sure to have been there.
    used = {}

    def verify_file(self, path):
        return super().verify_file(path) and path.endswith(('.treeline.yaml', '.treeline.yml'))

    def parse(self, inventory, loader, path, cache=True):
        super().parse(inventory, loader, path, cache)
        self.variables = {}  # Whether a key is a variable: there are as many keys as in one record, and 10,000 records.
        try:
            self._read_config(path)
            controller = Controller(*(self.get_option(name) for name in ('server', 'ca', 'cert', 'key', 'timeout')))
            nodes = self._read_nodes(controller)
            self._add_nodes(nodes)
        except Exception:
            # Ansible would warn, go on with the hosts of its other sources, and end with 0.
            constants.INVENTORY_ANY_UNPARSED_IS_FAILED = True
            raise
        _, before = self.used.get(path, (None, {}))
        self.used[path] = (controller, {name: node['etag'] for name, node in nodes.items()} | before)

    def _read_config(self, path):
        unknown = sorted(set(self._read_config_data(path)) - set(self._options))
        if unknown:
            raise AnsibleParserError(f'{path}: there is no option "{unknown[0]}"; those of the plugin are {", ".join(sorted(self._options))}')

    def _read_nodes(self, controller):
        """Returns all nodes by name, each with group, etag and record."""
        cache = Cache(self.get_option('cache_directory'), f'{controller.server}\n{self.get_option("cert")}')
        kept, etag = cache.read()
        status, _, content = controller.request('GET', ALL, {'Accept-Encoding': 'gzip', **({'If-None-Match': etag} if etag else {})})
        if status == 304 and kept is not None:
            content = kept
        elif status != 200:
            raise AnsibleParserError(controller.refusal(status, content))
        try:
            nodes = json.loads(content)
            if not all(NAME.fullmatch(name) and node['etag'] and node['record']['name'] == name for name, node in nodes.items()):
                raise ValueError('a node has a name that none can have')
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise AnsibleParserError(f'{controller.server} answered something else than an inventory; is it a Treeline controller, and not an older one? {error!r}') from error
        if status == 200:
            try:
                cache.write(content)
            except OSError as error:
                self.display.warning(f'treeline: the answer is not kept for the next run: {error}')
        return nodes

    def _add_nodes(self, nodes):
        memberships = {name: list(groups_of(node)) for name, node in nodes.items()}
        safe_names = self._name_groups({group for groups in memberships.values() for group in groups})
        for safe_name in safe_names.values():
            self.inventory.add_group(safe_name)
        for name, node in nodes.items():
            # Ansible would set the variables of the host for the whole group.
            if name in self.inventory.groups:
                raise AnsibleParserError(f'the server "{name}" has the name of a group; Ansible cannot tell them apart')
            # What a playbook does on the machine that it runs on, such as delegate_to: localhost, would be done on that server.
            if name in constants.LOCALHOST:
                raise AnsibleParserError(f'the server "{name}" has the name that Ansible gives the machine it runs on; give it another')
            self.inventory.add_host(name)
            record = as_data(node['record'])
            variables = {key: record[key] for key in record if self._is_variable(key)} | {'treeline': record}
            for key, value in variables.items():
                self.inventory.set_variable(name, key, value)
            for group in memberships[name]:
                self.inventory.add_child(safe_names[group], name)
            self._construct(name, variables)

    def _is_variable(self, key):
        if key not in self.variables:
            means = key in MEANT or key in get_reserved_names() or key.startswith(MEANT_PREFIXES)
            self.variables[key] = self.get_option('variables') and isidentifier(key) and not means
        return self.variables[key]

    def _construct(self, name, variables):
        strict = self.get_option('strict')
        self._set_composite_vars(self.get_option('compose'), variables, name, strict=strict)
        self._add_host_to_composed_groups(self.get_option('groups'), variables, name, strict=strict)
        self._add_host_to_keyed_groups(self.get_option('keyed_groups'), variables, name, strict=strict)

    def _name_groups(self, groups):
        """Returns the name of each group in Ansible. No two have one name: a play for one must not run on the servers of another."""
        alike = {}
        for group in sorted(groups):
            alike.setdefault(self._sanitize_group_name('_'.join(group)), []).append(group)
        names = {}
        for safe_name, members in alike.items():
            for group in members:
                digest = hashlib.sha256('/'.join(group).encode()).hexdigest()[:8]
                names[group] = safe_name if len(members) == 1 else f'{safe_name}_{digest}'
            if len(members) > 1:
                told = ', '.join(f'{" ".join(group)} is {names[group]}' for group in members)
                self.display.warning(f'treeline: several groups would be called {safe_name}: {told}')
        return names


def groups_of(node):
    """Yields the groups of a node, each as its kind and what it is named after."""
    record = node['record']
    for instance in record.get('stackInstance', []):
        yield ('instance', instance)
        if node['group']:
            yield ('group', instance, node['group'])
    for key in SELECTORS:
        if isinstance(record.get(key), str) and record[key]:
            yield (key, record[key])


def as_data(value):
    """Returns a value whose texts Ansible takes for text: what a record says is never run as a template. Keys hold nothing that could be one."""
    if isinstance(value, dict):
        return {key: as_data(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_data(item) for item in value]
    if isinstance(value, str) and not PLAIN.fullmatch(value):
        return wrap_var(value)
    return value
