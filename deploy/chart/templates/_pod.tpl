{{/* The file of --config. */}}
{{- define "fairlead.configuration" -}}
apiVersion: fairlead.dev/v1alpha1
kind: FairleadConfiguration
{{- with .Values.configuration.flags }}
flags:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.configuration.cloud }}
cloud:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "fairlead.arguments" -}}
- --config=/etc/fairlead/configuration/configuration.yaml
{{- if .Values.webhook.enabled }}
- --webhooks=service-annotations
- --webhook-tls-cert-file=/etc/fairlead/webhook/tls.crt
- --webhook-tls-private-key-file=/etc/fairlead/webhook/tls.key
{{- end }}
{{- with .Values.arguments }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Every credential of the cloud is optional here: the manager says which one it requires. */}}
{{- define "fairlead.env" -}}
- name: BUN_JSC_useDFGJIT
  value: "0"
{{- range $name, $variable := .Values.env }}
{{- if $variable }}
- name: {{ $name }}
  {{- toYaml $variable | nindent 2 }}
{{- end }}
{{- end }}
{{- if .Values.secret.name }}
{{- $keys := dict }}
{{- range (include "fairlead.cloud" . | fromYaml).credentials }}
{{- $_ := set $keys . . }}
{{- end }}
{{- $keys = merge (dict) .Values.secret.keys $keys }}
{{- range $variable, $key := $keys }}
{{- if not (hasKey $.Values.env $variable) }}
- name: {{ $variable }}
  valueFrom:
    secretKeyRef:
      name: {{ $.Values.secret.name }}
      key: {{ $key }}
      optional: true
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* An HTTPS request of the kubelet: {{ include "fairlead.probe" (list . "/livez") }}. */}}
{{- define "fairlead.probe" -}}
{{- $path := index . 1 -}}
{{- with index . 0 -}}
{{- $address := include "fairlead.flag" (list . "bind-address") -}}
httpGet:
  {{- if not (has $address (list "0.0.0.0" "::")) }}
  host: {{ $address | quote }}
  {{- end }}
  path: {{ $path }}
  port: {{ include "fairlead.flag" (list . "secure-port") }}
  scheme: HTTPS
{{- end -}}
{{- end -}}

{{- define "fairlead.ports" -}}
{{- if ne (include "fairlead.flag" (list . "secure-port")) "0" }}
- name: https
  containerPort: {{ include "fairlead.flag" (list . "secure-port") }}
  protocol: TCP
{{- end }}
{{- if .Values.webhook.enabled }}
- name: webhook
  containerPort: {{ include "fairlead.flag" (list . "webhook-secure-port") }}
  protocol: TCP
{{- end }}
{{- end -}}

{{/* Replicas of a Deployment prefer different machines, unless affinity has a rule for that. */}}
{{- define "fairlead.affinity" -}}
{{- $affinity := .Values.affinity }}
{{- if and (eq .Values.kind "Deployment") (gt (int .Values.replicas) 1) (not (hasKey $affinity "podAntiAffinity")) }}
{{- $term := dict "topologyKey" "kubernetes.io/hostname" "labelSelector" (dict "matchLabels" (include "fairlead.selectorLabels" . | fromYaml)) }}
{{- $preferred := list (dict "weight" 100 "podAffinityTerm" $term) }}
{{- $affinity = merge (dict "podAntiAffinity" (dict "preferredDuringSchedulingIgnoredDuringExecution" $preferred)) $affinity }}
{{- end }}
{{- toYaml $affinity }}
{{- end -}}

{{/* The template of the pods. */}}
{{- define "fairlead.pod" -}}
metadata:
  labels:
    {{- include "fairlead.labels" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    checksum/configuration: {{ include "fairlead.configuration" . | sha256sum }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "fairlead.serviceAccount" . }}
  {{- with .Values.image.pullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
  {{- end }}
  {{- if .Values.hostNetwork }}
  hostNetwork: true
  {{- end }}
  dnsPolicy: {{ .Values.dnsPolicy }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  # Longer than --drain-timeout (10s) plus the release of the Lease.
  terminationGracePeriodSeconds: 30
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with concat .Values.tolerations .Values.additionalTolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with include "fairlead.affinity" . | fromYaml }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.topologySpreadConstraints }}
  topologySpreadConstraints:
    {{- range . }}
    {{- $ofRelease := dict "labelSelector" (dict "matchLabels" (include "fairlead.selectorLabels" $ | fromYaml)) }}
    {{- /* A merge of both would change the selector of the value. */}}
    - {{- if hasKey . "labelSelector" }}{{ toYaml . | nindent 6 }}{{ else }}{{ merge (dict) . $ofRelease | toYaml | nindent 6 }}{{ end }}
    {{- end }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    seccompProfile:
      type: RuntimeDefault
  containers:
    - name: cloud-controller-manager
      image: {{ include "fairlead.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args:
        {{- include "fairlead.arguments" . | nindent 8 }}
      env:
        {{- include "fairlead.env" . | nindent 8 }}
      {{- with include "fairlead.ports" . | trim }}
      ports:
        {{- . | nindent 8 }}
      {{- end }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop:
            - ALL
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      {{- if ne (include "fairlead.flag" (list . "secure-port")) "0" }}
      livenessProbe:
        {{- include "fairlead.probe" (list . "/livez") | nindent 8 }}
        initialDelaySeconds: 10
        periodSeconds: 10
        failureThreshold: 8
        timeoutSeconds: 15
      readinessProbe:
        {{- include "fairlead.probe" (list . "/readyz") | nindent 8 }}
        periodSeconds: 10
        timeoutSeconds: 15
      {{- end }}
      volumeMounts:
        - name: configuration
          mountPath: /etc/fairlead/configuration
          readOnly: true
        {{- if .Values.webhook.enabled }}
        - name: webhook
          mountPath: /etc/fairlead/webhook
          readOnly: true
        {{- end }}
        {{- with .Values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - name: configuration
      configMap:
        name: {{ include "fairlead.name" . }}
    {{- if .Values.webhook.enabled }}
    - name: webhook
      secret:
        secretName: {{ required "webhook.certificateSecret is required with webhook.enabled: a Secret of type kubernetes.io/tls" .Values.webhook.certificateSecret }}
    {{- end }}
    {{- with .Values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}
