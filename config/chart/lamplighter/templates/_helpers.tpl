{{- /* Services have a name of one DNS label: a letter first, no dot, 63 characters. The longest end here is -gateway-monitor. */ -}}
{{- define "lamplighter.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- $full := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) -}}
{{- $full = .Values.fullnameOverride | default $full | replace "." "-" -}}
{{- if not (regexMatch "^[a-z]" $full) -}}
{{- fail (printf "the name of a Service begins with a letter, and '%s' does not: set fullnameOverride" $full) -}}
{{- end -}}
{{- regexReplaceAll "-+$" (trunc 47 $full) "" -}}
{{- end -}}

{{- define "lamplighter.selector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "lamplighter.labels" -}}
{{ include "lamplighter.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "lamplighter.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "lamplighter.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "lamplighter.image" -}}
{{- $image := printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- if .Values.image.digest }}{{ $image }}@{{ .Values.image.digest }}{{ else }}{{ $image }}{{ end -}}
{{- end -}}

{{- /* The pod's part that all processes share. Context: root. */ -}}
{{- define "lamplighter.pod" -}}
serviceAccountName: {{ include "lamplighter.serviceAccount" . }}
automountServiceAccountToken: false
# A Service called lamplighter-gateway would set LAMPLIGHTER_GATEWAY_PORT=tcp://…, the name of a setting.
enableServiceLinks: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  # Mounted Secrets belong to root and this group, with mode 440.
  fsGroup: 10001
  seccompProfile:
    type: RuntimeDefault
{{- end -}}

{{- define "lamplighter.securityContext" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  privileged: false
  runAsNonRoot: true
  capabilities:
    drop: [ALL]
  seccompProfile:
    type: RuntimeDefault
{{- end -}}

{{- /* A map of settings as variables. `a.b_c` is LAMPLIGHTER_A_B_C. */ -}}
{{- define "lamplighter.settings" -}}
{{- range $path, $value := . }}
- name: LAMPLIGHTER_{{ $path | replace "." "_" | upper }}
  value: {{ $value | quote }}
{{- end }}
{{- end -}}

{{- /* All variables of a process, the wide ones first. Context: root, component, redisKey. */ -}}
{{- define "lamplighter.variables" -}}
{{- $values := .root.Values -}}
{{- $own := index $values .component -}}
{{- if $values.config.secretName }}
- name: LAMPLIGHTER_CONFIG
  value: /etc/lamplighter/lamplighter.yaml
{{- end }}
{{- if $values.redis.secretName }}
- name: LAMPLIGHTER_REDIS_URL
  valueFrom:
    secretKeyRef:
      name: {{ $values.redis.secretName }}
      key: {{ .redisKey }}
{{- end }}
{{- if $values.redis.tls.secretName }}
- name: LAMPLIGHTER_REDIS_CA_FILE
  value: /etc/lamplighter-redis/{{ $values.redis.tls.caKey }}
{{- if $values.redis.tls.certKey }}
- name: LAMPLIGHTER_REDIS_CERT_FILE
  value: /etc/lamplighter-redis/{{ $values.redis.tls.certKey }}
- name: LAMPLIGHTER_REDIS_KEY_FILE
  value: /etc/lamplighter-redis/{{ $values.redis.tls.keyKey }}
{{- end }}
{{- end }}
{{- if $values.monitor.secretName }}
- name: LAMPLIGHTER_MONITOR_SECRET
  valueFrom:
    secretKeyRef:
      name: {{ $values.monitor.secretName }}
      key: {{ $values.monitor.secretKey }}
{{- end }}
{{- if eq .component "gateway" }}
- name: LAMPLIGHTER_GATEWAY_HOST
  value: {{ $values.listenAddress | quote }}
- name: LAMPLIGHTER_GATEWAY_PORT
  value: {{ $own.port | quote }}
- name: LAMPLIGHTER_MONITOR_HOST
  value: {{ $values.listenAddress | quote }}
- name: LAMPLIGHTER_MONITOR_PORT
  value: {{ $values.monitor.port | quote }}
{{- with $own.trustedProxies }}
- name: LAMPLIGHTER_GATEWAY_TRUSTED_PROXIES
  value: {{ . | quote }}
{{- end }}
{{- if $own.tls.secretName }}
- name: LAMPLIGHTER_GATEWAY_CERT_FILE
  value: /etc/lamplighter-tls/tls.crt
- name: LAMPLIGHTER_GATEWAY_KEY_FILE
  value: /etc/lamplighter-tls/tls.key
{{- end }}
# Keeps the process smaller after a burst of large requests.
- name: MALLOC_ARENA_MAX
  value: "2"
{{- else }}
- name: LAMPLIGHTER_WORKER_HOST
  value: {{ $values.listenAddress | quote }}
- name: LAMPLIGHTER_WORKER_PORT
  value: {{ $values.monitor.port | quote }}
- name: LAMPLIGHTER_WORKER_DRAIN_TIMEOUT
  value: {{ printf "%vs" $own.drainTimeoutSeconds | quote }}
{{- end }}
{{- include "lamplighter.settings" $values.settings }}
{{- include "lamplighter.settings" $own.settings }}
{{- end -}}

{{- /*
The variables of a container, each name once: a narrower one takes the place of a wider one. They keep their order, because
one may refer to those before it. Context: root, component, redisKey, extra (entries that are narrower than extraEnv).
*/ -}}
{{- define "lamplighter.env" -}}
{{- $own := index .root.Values .component -}}
{{- $entries := concat (include "lamplighter.variables" . | fromYamlArray) $own.extraEnv (default list .extra) -}}
{{- $last := dict -}}
{{- range $index, $entry := $entries }}{{ $_ := set $last $entry.name $index }}{{ end -}}
{{- range $index, $entry := $entries }}
{{- if eq $index (get $last $entry.name) }}
{{ toYaml (list $entry) }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* Context: root, component, keys (whether APNs keys are mounted). */ -}}
{{- define "lamplighter.mounts" -}}
{{- $values := .root.Values -}}
volumeMounts:
  {{- if or $values.config.secretName (and .keys $values.apnsKeys.secretName) }}
  - name: settings
    mountPath: /etc/lamplighter
    readOnly: true
  {{- end }}
  - name: tmp
    mountPath: /tmp
  {{- if $values.redis.tls.secretName }}
  - name: redis
    mountPath: /etc/lamplighter-redis
    readOnly: true
  {{- end }}
  {{- if and (eq .component "gateway") $values.gateway.tls.secretName }}
  - name: certificate
    mountPath: /etc/lamplighter-tls
    readOnly: true
  {{- end }}
  {{- with (index $values .component).extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- /* Context: root, component, configKey, keys. */ -}}
{{- define "lamplighter.volumes" -}}
{{- $values := .root.Values -}}
{{- $hasKeys := and .keys $values.apnsKeys.secretName -}}
volumes:
  {{- if or $values.config.secretName $hasKeys }}
  # Settings and keys in one directory, because a relative key_file begins at that of the settings.
  - name: settings
    projected:
      defaultMode: 0440
      sources:
        {{- if $values.config.secretName }}
        - secret:
            name: {{ $values.config.secretName }}
            items:
              - key: {{ .configKey }}
                path: lamplighter.yaml
        {{- end }}
        {{- if $hasKeys }}
        - secret:
            name: {{ $values.apnsKeys.secretName }}
        {{- end }}
  {{- end }}
  - name: tmp
    emptyDir:
      medium: Memory
      sizeLimit: 16Mi
  {{- if $values.redis.tls.secretName }}
  - name: redis
    secret:
      secretName: {{ $values.redis.tls.secretName }}
      defaultMode: 0440
  {{- end }}
  {{- if and (eq .component "gateway") $values.gateway.tls.secretName }}
  - name: certificate
    secret:
      secretName: {{ $values.gateway.tls.secretName }}
      defaultMode: 0440
  {{- end }}
  {{- with (index $values .component).extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- /*
Probes. /healthz says that the process lives, /readyz also that Redis answers. A start waits while Redis loads, so it may
take five minutes. Later probes ask the monitor port, because the gateway's may be full of clients, and a restart would only
make that worse. With monitor.secret bash asks for /readyz: a probe of Kubernetes cannot take a header from a Secret.
Context: root, startPort, scheme.
*/ -}}
{{- define "lamplighter.probes" -}}
startupProbe:
  httpGet:
    path: /healthz
    port: {{ .startPort }}
    scheme: {{ .scheme }}
  periodSeconds: 2
  failureThreshold: 150
livenessProbe:
  httpGet:
    path: /healthz
    port: monitor
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  {{- if .root.Values.monitor.secretName }}
  exec:
    command:
      - /bin/bash
      - -c
      - {{ printf `exec 3<>/dev/tcp/127.0.0.1/%v && printf 'GET /readyz HTTP/1.0\r\nAuthorization: Bearer %%s\r\n\r\n' "$LAMPLIGHTER_MONITOR_SECRET" >&3 && head -n 1 <&3 | grep -q ' 200 '` .root.Values.monitor.port | quote }}
  {{- else }}
  httpGet:
    path: /readyz
    port: monitor
  {{- end }}
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 2
{{- end -}}

{{- /* Pods on different nodes and in different zones. Context: root, component. */ -}}
{{- define "lamplighter.spread" -}}
topologySpreadConstraints:
  {{- range $key := list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ $key }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "lamplighter.selector" $.root | nindent 8 }}
        app.kubernetes.io/component: {{ $.component }}
  {{- end }}
{{- end -}}

{{- define "lamplighter.placement" -}}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}
